"""Metrics and values of labels that ``/metrics`` leaves out (``--disabled-metrics``, ``--allow-metric-labels``).

Upstream: ``k8s.io/component-base/metrics`` (``options.go``, ``opts.go``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    #: Name or suffix, labels and value of a sample.
    Sample = tuple[str, tuple[tuple[str, str], ...], float]

#: Value of a label in place of those that are not allowed.
UNEXPECTED: Final = "unexpected"
_KEY: Final = re.compile("[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*")


class MetricFilter(msgspec.Struct, frozen=True):
    """Names of disabled metrics, and the allowed values by metric and label."""

    disabled: frozenset[str] = frozenset()
    allowed: dict[str, dict[str, frozenset[str]]] = {}

    def __bool__(self) -> bool:
        return bool(self.disabled or self.allowed)

    def constrain(self, metric: str, samples: Collection[Sample], *, adds: bool) -> Collection[Sample]:
        """Return the samples of a metric with ``UNEXPECTED`` in place of values that are not allowed.

        Samples that become alike are one: their sum if ``adds``, as for counters, otherwise the last of them.
        """
        labels_allowed = self.allowed.get(metric)
        if labels_allowed is None:
            return samples
        merged: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        for name, labels, value in samples:
            key = (name, tuple((label, _constrained(text, labels_allowed.get(label))) for label, text in labels))
            merged[key] = merged.get(key, 0) + value if adds else value
        return [(name, labels, value) for (name, labels), value in merged.items()]


#: Filter that leaves out nothing.
NO_FILTER: Final = MetricFilter()


def make_metric_filter(disabled: Iterable[str], allow_list: Mapping[str, str]) -> MetricFilter:
    """Return the filter; ``allow_list`` maps ``metric,label`` to ``value,value``. Raises ``ValueError``."""
    allowed: dict[str, dict[str, frozenset[str]]] = {}
    for key, values in allow_list.items():
        if not _KEY.fullmatch(key):
            raise ValueError(
                "must have a list of kv pair with format `metricName,labelName=labelValue, labelValue,...`"
            )
        metric, _, label = key.partition(",")
        allowed.setdefault(metric, {})[label] = frozenset(values.split(","))
    return MetricFilter(frozenset(disabled), allowed)


def _constrained(value: str, allowed: frozenset[str] | None) -> str:
    return value if allowed is None or value in allowed else UNEXPECTED
