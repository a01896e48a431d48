"""What a work queue tells about itself; ``prometheus`` writes it down under client-go's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class QueueMetrics(Protocol):
    """Heard by a queue at each step. Times are seconds."""

    def watch(self, *, depth: Callable[[], int], unfinished: Callable[[], float], longest: Callable[[], float]) -> None:
        """Functions to ask when metrics are read: keys that wait, seconds of all keys at work, and of the oldest."""

    def added(self) -> None:
        """A key came to wait that did not wait before."""

    def taken(self, waited_seconds: float) -> None:
        """A worker took a key."""

    def finished(self, worked_seconds: float) -> None:
        """A worker handed a key back."""

    def retried(self) -> None:
        """A key was added with a delay or after a failure."""


class NoMetrics:
    """Hears nothing."""

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
