"""Metrics of conversion webhooks in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from steersman.apiserver.observability.metrics import Family, counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.apiserver.crd.conversion_metrics import ConversionMetrics, Histogram
    from steersman.apiserver.observability.metrics import Labels

K = TypeVar("K", bound="tuple[str, ...]")

_REQUEST_LABELS: Final = ("failure_type", "result")


class ConversionMetricsCollector:
    """Collector of the counters of ``ConversionMetrics``."""

    def __init__(self, metrics: ConversionMetrics) -> None:
        self._metrics: Final = metrics

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        metrics = self._metrics
        families = [
            counter(
                "apiserver_conversion_webhook_request_total",
                "Calls of conversion webhooks, by result and type of failure.",
                [
                    (tuple(zip(_REQUEST_LABELS, labels, strict=True)), count)
                    for labels, count in metrics.requests.items()
                ],
            ),
            _histogram(
                "apiserver_conversion_webhook_duration_seconds",
                "Latency of conversion webhooks in seconds, by result and type of failure.",
                _REQUEST_LABELS,
                metrics.request_durations,
            ),
            _histogram(
                "apiserver_crd_conversion_webhook_duration_seconds",
                "Latency of conversions by webhooks in seconds, by CustomResourceDefinition, versions and outcome.",
                ("crd_name", "from_version", "succeeded", "to_version"),
                metrics.conversion_durations,
            ),
        ]
        return [family for family in families if family.samples]


def _histogram(name: str, text: str, label_names: tuple[str, ...], histograms: Mapping[K, Histogram]) -> Family:
    samples: list[tuple[str, Labels, float]] = []
    for values, histogram in histograms.items():
        labels = tuple(zip(label_names, values, strict=True))
        total = 0
        for bound, count in zip((*(f"{limit:g}" for limit in histogram.bounds), "+Inf"), histogram.counts, strict=True):
            total += count
            samples.append(("_bucket", (*labels, ("le", bound)), total))
        samples += [("_sum", labels, histogram.total_seconds), ("_count", labels, total)]
    return Family(name, "histogram", text, samples)
