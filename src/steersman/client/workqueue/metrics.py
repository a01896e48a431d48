"""Metrics interface of work queues; ``prometheus`` implements it under client-go's names.

Upstream: ``workqueue.MetricsProvider``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class QueueMetrics(Protocol):
    """Receiver of a queue's metrics. Times are seconds."""

    def watch(self, *, depth: Callable[[], int], unfinished: Callable[[], float], longest: Callable[[], float]) -> None:
        """Register functions for collection: queued keys, summed processing time, processing time of the oldest key."""

    def added(self) -> None:
        """Count a key that was queued."""

    def taken(self, waited_seconds: float) -> None:
        """Observe the time a key was queued when a worker gets it."""

    def finished(self, worked_seconds: float) -> None:
        """Observe the processing time of a key at ``done``."""

    def retried(self) -> None:
        """Count a key that was added with a delay or after a failure."""


class NoMetrics:
    """``QueueMetrics`` that discards all observations."""

    def watch(self, *, depth: Callable[[], int], unfinished: Callable[[], float], longest: Callable[[], float]) -> None:
        return

    def added(self) -> None:
        return

    def taken(self, waited_seconds: float) -> None:
        return

    def finished(self, worked_seconds: float) -> None:
        return

    def retried(self) -> None:
        return
