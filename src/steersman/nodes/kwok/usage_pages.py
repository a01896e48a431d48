"""Reader of usage and metric documents together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.nodes.kwok.metrics import METRIC, MetricPages
from steersman.nodes.kwok.usage import Usages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


class UsagePages(NamedTuple):
    """Usage of pods, and the metrics pages that report it."""

    usages: Usages
    pages: MetricPages


def read_usage(documents: Sequence[Any], *, dice: Random) -> UsagePages:
    """Read documents of the kinds ResourceUsage, ClusterResourceUsage and Metric. Raises TemplateError."""
    usages = Usages([document for document in documents if document["kind"] != METRIC], dice=dice)
    return UsagePages(
        usages, MetricPages([document for document in documents if document["kind"] == METRIC], usages, dice=dice)
    )
