"""Metrics of admission plugins and of the steps of admission in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.admission.plugin_metrics import Durations, PluginMetrics
    from steersman.apiserver.observability.metrics import Family, Labels

_PREFIX: Final = "apiserver_admission_"


class PluginMetricsCollector:
    """Collector of the durations of ``PluginMetrics``."""

    def __init__(self, metrics: PluginMetrics) -> None:
        self._metrics: Final = metrics

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        plugins: dict[Labels, Durations] = {
            (("name", name), ("operation", operation), ("type", kind)): durations
            for (name, operation, kind), durations in self._metrics.plugins.items()
        }
        steps: dict[Labels, Durations] = {
            (("operation", operation), ("type", kind)): durations
            for (operation, kind), durations in self._metrics.steps.items()
        }
        families = [
            histogram(
                f"{_PREFIX}controller_admission_duration_seconds",
                "Latency of admission plugins in seconds, by name, operation, type (validate or admit) and outcome.",
                _samples(plugins),
            ),
            histogram(
                f"{_PREFIX}step_admission_duration_seconds",
                "Latency of the steps of admission in seconds, by operation, type (validate or admit) and outcome.",
                _samples(steps),
            ),
        ]
        return [family for family in families if family.samples]


def _samples(durations_by_labels: Mapping[Labels, Durations]) -> Iterable[tuple[Labels, Histogram]]:
    for labels, durations in durations_by_labels.items():
        for rejected, values in (("false", durations.accepted), ("true", durations.rejected)):
            if values.count:
                yield (*labels, ("rejected", rejected)), values
