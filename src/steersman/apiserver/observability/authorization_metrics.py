"""Metrics of authorization webhooks in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, histogram, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.authz.webhook_metrics import AuthorizationWebhookMetrics
    from steersman.apiserver.observability.metrics import Family

_WEBHOOK: Final = "apiserver_authorization_webhook"
_CONDITION: Final = "apiserver_authorization_match_condition"
_CALL_LABELS: Final = ("name", "result")
_CONDITION_LABELS: Final = ("type", "name")


class AuthorizationMetricsCollector:
    """Collector of the counters and durations of ``AuthorizationWebhookMetrics``."""

    def __init__(self, metrics: AuthorizationWebhookMetrics) -> None:
        self._metrics: Final = metrics

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        metrics = self._metrics
        families = [
            counter(
                f"{_WEBHOOK}_evaluations_total",
                "Round-trips to authorization webhooks.",
                labelled(_CALL_LABELS, metrics.evaluations),
            ),
            histogram(
                f"{_WEBHOOK}_duration_seconds",
                "Request latency in seconds.",
                labelled(_CALL_LABELS, metrics.durations),
            ),
            counter(
                f"{_WEBHOOK}_evaluations_fail_open_total",
                "NoOpinion results due to webhook timeout or error.",
                labelled(_CALL_LABELS, metrics.fail_open),
            ),
            histogram(
                f"{_CONDITION}_evaluation_seconds",
                "Latency of the evaluation of match conditions in seconds, by authorizer type and name.",
                labelled(_CONDITION_LABELS, metrics.condition_durations),
            ),
            counter(
                f"{_CONDITION}_evaluation_errors_total",
                "Requests for which match conditions had an error, by authorizer type and name.",
                labelled(_CONDITION_LABELS, metrics.condition_errors),
            ),
            counter(
                f"{_CONDITION}_exclusions_total",
                "Requests that match conditions exclude, by authorizer type and name.",
                labelled(_CONDITION_LABELS, metrics.condition_exclusions),
            ),
        ]
        return [family for family in families if family.samples]
