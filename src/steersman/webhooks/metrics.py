"""Metrics of webhooks under controller-runtime's names.

Upstream: controller-runtime's ``pkg/webhook/internal/metrics/metrics.go``.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import CollectorRegistry

    from steersman.asynckit.clock import Clock


class WebhookMetrics:
    """Metric families of one server, by path of the webhook."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self._clock = clock
        self._requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Requests of webhooks by HTTP status code",
            ("webhook", "code"),
            registry=registry,
        )
        self._latency = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "Seconds that requests of webhooks took",
            ("webhook",),
            registry=registry,
        )
        self._in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Requests of webhooks that are being served",
            ("webhook",),
            registry=registry,
        )

    def add_webhook(self, path: str) -> None:
        """Expose the usual series of a webhook before its first request."""
        for code in ("200", "500"):
            self._requests.labels(path, code)
        self._in_flight.labels(path)

    @contextmanager
    def in_flight(self, path: str) -> Iterator[None]:
        """Count a request as in flight in the block, and observe its duration."""
        started = self._clock.monotonic()
        with self._in_flight.labels(path).track_inprogress():
            try:
                yield
            finally:
                self._latency.labels(path).observe(self._clock.monotonic() - started)

    def answered(self, path: str, code: int) -> None:
        """Count a response."""
        self._requests.labels(path, str(code)).inc()
