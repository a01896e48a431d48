"""Metrics of the controllers that delete Pods because of taints.

Upstream: ``pkg/controller/tainteviction/metrics``, ``pkg/controller/devicetainteviction/metrics``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

#: Seconds, as upstream's.
_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)


class EvictionMetrics:
    """Number of deleted Pods, and the latency of their deletions."""

    def __init__(self, registry: CollectorRegistry, *, subsystem: str) -> None:
        self._deletions = Counter(
            f"{subsystem}_pod_deletions_total", "Pods deleted since the controller started", registry=registry
        )
        self._latency = Histogram(
            f"{subsystem}_pod_deletion_duration_seconds",
            "Seconds from when a taint took effect to the deletion of a Pod",
            registry=registry, buckets=_BUCKETS,
        )  # fmt: skip

    def record_deletion(self, *, latency_seconds: float) -> None:
        """Count a deleted Pod; ``latency_seconds``: since the taint took effect."""
        self._deletions.inc()
        self._latency.observe(latency_seconds)
