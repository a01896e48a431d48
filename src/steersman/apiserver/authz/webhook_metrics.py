"""Metrics of authorization webhooks, by name.

Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics/metrics.go, pkg/authorization/cel/metrics.go
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import count, observe

if TYPE_CHECKING:
    from steersman.apimachinery.histogram import Histogram

_TYPE: Final = "Webhook"
_DURATION_BUCKETS: Final[tuple[float, ...]] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_CONDITION_BUCKETS: Final[tuple[float, ...]] = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)


class AuthorizationWebhookMetrics:
    """Counters and durations. A result is ``success``, ``error``, ``timeout`` or ``canceled``."""

    def __init__(self) -> None:
        #: By name and result.
        self.evaluations: Final[Counter[tuple[str, str]]] = Counter()
        self.durations: Final[dict[tuple[str, str], Histogram]] = {}
        self.fail_open: Final[Counter[tuple[str, str]]] = Counter()
        #: By type and name.
        self.condition_durations: Final[dict[tuple[str, str], Histogram]] = {}
        self.condition_errors: Final[Counter[tuple[str, str]]] = Counter()
        self.condition_exclusions: Final[Counter[tuple[str, str]]] = Counter()

    def observe_call(self, name: str, result: str, seconds: float) -> None:
        """Count a round trip."""
        labels = (name, result)
        count(self.evaluations, labels)
        observe(self.durations, labels, seconds, _DURATION_BUCKETS)

    def observe_fail_open(self, name: str, result: str) -> None:
        """Count a failure of a webhook whose policy is to have no opinion."""
        count(self.fail_open, (name, result))

    def observe_conditions(self, name: str, seconds: float, *, is_excluded: bool, has_error: bool) -> None:
        """Count an evaluation of match conditions."""
        labels = (_TYPE, name)
        observe(self.condition_durations, labels, seconds, _CONDITION_BUCKETS)
        if is_excluded:
            count(self.condition_exclusions, labels)
        if has_error:
            count(self.condition_errors, labels)
