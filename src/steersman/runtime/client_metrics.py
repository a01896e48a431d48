"""Metrics of the client's requests, under client-go's names (``rest_client_*``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

#: Seconds, as ``component-base``'s.
_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES_BUCKETS: Final = (64, 256, 512, 1024, *(4**exponent for exponent in range(6, 13)))


class PrometheusClientMetrics:
    """Implementation of ``client.sending.ClientMetrics``; one for all clients of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "rest_client_requests_total",
            "Requests by code, method and host",
            ("code", "method", "host"),
            registry=registry,
        )
        self._duration = Histogram(
            "rest_client_request_duration_seconds", "Seconds a request took", ("verb", "host"),
            registry=registry, buckets=_BUCKETS,
        )  # fmt: skip
        self._request_sizes = Histogram(
            "rest_client_request_size_bytes", "Size of bodies of requests", ("verb", "host"),
            registry=registry, buckets=_BYTES_BUCKETS,
        )  # fmt: skip
        self._response_sizes = Histogram(
            "rest_client_response_size_bytes", "Size of bodies of responses", ("verb", "host"),
            registry=registry, buckets=_BYTES_BUCKETS,
        )  # fmt: skip
        self._retries = Counter(
            "rest_client_request_retries_total", "Requests sent again", ("code", "verb", "host"), registry=registry
        )
        self._throttled = Histogram(
            "rest_client_rate_limiter_duration_seconds", "Seconds a request waited for the client's own rate limit",
            ("verb", "host"), registry=registry, buckets=_BUCKETS,
        )  # fmt: skip

    def request_done(self, *, method: str, host: str, code: str, duration_seconds: float) -> None:
        """Count one attempt and its latency; ``code`` is ``<error>`` without a response."""
        self._requests.labels(code, method, host).inc()
        self._duration.labels(method, host).observe(duration_seconds)

    def transferred(self, *, method: str, host: str, request_bytes: int | None, response_bytes: int) -> None:
        """Record the sizes of the bodies of an answered request; ``request_bytes`` is None without one."""
        if request_bytes is not None:
            self._request_sizes.labels(method, host).observe(request_bytes)
        self._response_sizes.labels(method, host).observe(response_bytes)

    def retried(self, *, method: str, host: str, code: str) -> None:
        """Count a retry of the same request."""
        self._retries.labels(code, method, host).inc()

    def throttled(self, *, method: str, host: str, waited_seconds: float) -> None:
        """Record how long a request waited for the client's rate limiter."""
        self._throttled.labels(method, host).observe(waited_seconds)
