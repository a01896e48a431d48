"""Metrics of admission webhooks in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, histogram, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.admission.webhook_metrics import WebhookMetrics
    from steersman.apiserver.observability.metrics import Family

_CALL_LABELS: Final = ("name", "operation", "rejected", "type")


class WebhookMetricsCollector:
    """Collector of the counters of ``WebhookMetrics``."""

    def __init__(self, metrics: WebhookMetrics) -> None:
        self._metrics: Final = metrics

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        metrics = self._metrics
        families = [
            histogram(
                "apiserver_admission_webhook_admission_duration_seconds",
                "Latency of admission webhooks in seconds, by name, operation, type and outcome.",
                labelled(_CALL_LABELS, metrics.durations),
            ),
            counter(
                "apiserver_admission_webhook_request_total",
                "Calls of admission webhooks, by name, operation, type and HTTP status code; greater codes count as 600.",
                labelled(("code", "name", "operation", "rejected", "type"), metrics.requests),
            ),
            counter(
                "apiserver_admission_webhook_rejection_count",
                "Writes that admission webhooks rejected, by name, operation, type, kind of error and status code.",
                labelled(("error_type", "name", "operation", "rejection_code", "type"), metrics.rejections),
            ),
            counter(
                "apiserver_admission_webhook_fail_open_count",
                "Failed calls of admission webhooks that failurePolicy Ignore covers, by name and type.",
                labelled(("name", "type"), metrics.fail_open),
            ),
        ]
        return [family for family in families if family.samples]
