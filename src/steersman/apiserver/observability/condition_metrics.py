"""Metrics of match conditions in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, histogram, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.admission.condition_metrics import ConditionMetrics
    from steersman.apiserver.observability.metrics import Family

_PREFIX: Final = "apiserver_admission_match_condition"
_LABELS: Final = ("kind", "name", "operation", "type")
_BY: Final = "by kind (webhook or policy), name, operation and type."


class ConditionMetricsCollector:
    """Collector of the counters and durations of ``ConditionMetrics``."""

    def __init__(self, metrics: ConditionMetrics) -> None:
        self._metrics: Final = metrics

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        metrics = self._metrics
        families = [
            histogram(
                f"{_PREFIX}_evaluation_seconds",
                f"Latency of the evaluation of match conditions in seconds, {_BY}",
                labelled(_LABELS, metrics.durations),
            ),
            counter(
                f"{_PREFIX}_evaluation_errors_total",
                f"Match conditions with errors, {_BY}",
                labelled(_LABELS, metrics.errors),
            ),
            counter(
                f"{_PREFIX}_exclusions_total",
                f"Writes that match conditions exclude, {_BY}",
                labelled(_LABELS, metrics.exclusions),
            ),
        ]
        return [family for family in families if family.samples]
