"""Metrics of admission policies in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from steersman.apiserver.observability.metrics import counter, histogram, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.admission.policy_metrics import PolicyMetrics
    from steersman.apiserver.observability.metrics import Family

K = TypeVar("K", bound="tuple[str, ...]")

_VALIDATING: Final = "apiserver_validating_admission_policy"
_MUTATING: Final = "apiserver_mutating_admission_policy"
_MUTATION_LABELS: Final = ("error_type", "policy", "policy_binding")


class PolicyMetricsCollector:
    """Collector of the durations of ``PolicyMetrics``."""

    def __init__(self, metrics: PolicyMetrics) -> None:
        self._metrics: Final = metrics

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        metrics = self._metrics
        return [
            *_families(_VALIDATING, "validations", ("enforcement_action", *_MUTATION_LABELS), metrics.validations),
            *_families(_MUTATING, "mutations", _MUTATION_LABELS, metrics.mutations),
        ]


def _families(prefix: str, checks: str, labels: Sequence[str], durations: Mapping[K, Histogram]) -> list[Family]:
    samples = labelled(labels, durations)
    if not samples:
        return []
    by = ", ".join(labels)
    totals = [(pairs, values.count) for pairs, values in samples]
    return [
        counter(f"{prefix}_check_total", f"Number of {checks} of admission policies, by {by}.", totals),
        histogram(
            f"{prefix}_check_duration_seconds",
            f"Latency of {checks} of admission policies in seconds, by {by}.",
            samples,
        ),
    ]
