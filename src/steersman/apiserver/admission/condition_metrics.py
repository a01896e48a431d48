"""Metrics of match conditions. Upstream: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import count, observe

if TYPE_CHECKING:
    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.admission.validating_policy_rules import Conditions

#: Upper bounds in seconds.
BUCKETS: Final[tuple[float, ...]] = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)


class ConditionMetrics:
    """Counters and durations by the labels kind, name, operation and type.

    The kind is ``webhook`` or ``policy``, the type ``admit`` or ``validating`` for webhooks, ``validate`` for policies.
    """

    def __init__(self) -> None:
        self.durations: Final[dict[tuple[str, str, str, str], Histogram]] = {}
        self.errors: Final[Counter[tuple[str, str, str, str]]] = Counter()
        self.exclusions: Final[Counter[tuple[str, str, str, str]]] = Counter()

    def observe(self, conditions: Conditions, *, kind: str, name: str, operation: str, type_: str) -> None:
        """Record one evaluation of the conditions of a webhook or policy. Only webhooks count exclusions, as upstream."""
        labels = (kind, name, operation, type_)
        observe(self.durations, labels, conditions.seconds, BUCKETS)
        if conditions.errors:
            count(self.errors, labels, conditions.errors)
        if kind == "webhook" and not conditions.hold and not conditions.failure:
            count(self.exclusions, labels)
