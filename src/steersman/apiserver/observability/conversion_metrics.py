"""Metrics of conversion webhooks in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from steersman.apiserver.observability.metrics import counter, histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.crd.conversion_metrics import ConversionMetrics
    from steersman.apiserver.observability.metrics import Family, Labels

K = TypeVar("K", bound="tuple[str, ...]")

_REQUEST_LABELS: Final = ("failure_type", "result")
_CONVERSION_LABELS: Final = ("crd_name", "from_version", "succeeded", "to_version")


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
            histogram(
                "apiserver_conversion_webhook_duration_seconds",
                "Latency of conversion webhooks in seconds, by result and type of failure.",
                _by_labels(_REQUEST_LABELS, metrics.request_durations),
            ),
            histogram(
                "apiserver_crd_conversion_webhook_duration_seconds",
                "Latency of conversions by webhooks in seconds, by CustomResourceDefinition, versions and outcome.",
                _by_labels(_CONVERSION_LABELS, metrics.conversion_durations),
            ),
        ]
        return [family for family in families if family.samples]


def _by_labels(names: tuple[str, ...], histograms: Mapping[K, Histogram]) -> Iterator[tuple[Labels, Histogram]]:
    for values, durations in histograms.items():
        yield tuple(zip(names, values, strict=True)), durations
