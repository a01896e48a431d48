"""Metrics of conversion webhooks in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, histogram, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.crd.conversion_metrics import ConversionMetrics
    from steersman.apiserver.observability.metrics import Family

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
                labelled(_REQUEST_LABELS, metrics.requests),
            ),
            histogram(
                "apiserver_conversion_webhook_duration_seconds",
                "Latency of conversion webhooks in seconds, by result and type of failure.",
                labelled(_REQUEST_LABELS, metrics.request_durations),
            ),
            histogram(
                "apiserver_crd_conversion_webhook_duration_seconds",
                "Latency of conversions by webhooks in seconds, by CustomResourceDefinition, versions and outcome.",
                labelled(_CONVERSION_LABELS, metrics.conversion_durations),
            ),
        ]
        return [family for family in families if family.samples]
