"""Counters of a FlowSchema in a priority level, for metrics."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Upper bounds of upstream's histograms.
SECONDS: Final[tuple[float, ...]] = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
LENGTHS: Final = (0, 10, 25, 50, 100, 250, 500, 1000)
SEATS: Final = (1, 2, 4, 10)


class Histogram:
    """Histogram of observed values."""

    __slots__ = ("bounds", "buckets", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds: Final = bounds
        #: Counts by bucket; the last one is +Inf.
        self.buckets: Final = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.sum += value


class FlowCounts:
    """Counters of one schema in one level."""

    __slots__ = (
        "dispatched",
        "executing",
        "executing_seats",
        "execution_seconds",
        "queue_lengths",
        "rejected",
        "seats",
        "waited_in_vain_seconds",
        "waited_seconds",
        "waiting",
        "waiting_seats",
    )

    def __init__(self) -> None:
        self.dispatched = 0
        self.executing = 0
        self.executing_seats = 0
        self.waiting = 0
        self.waiting_seats = 0
        #: Rejections by reason: ``queue-full``, ``concurrency-limit``, ``time-out``, ``cancelled``.
        self.rejected: Final[dict[str, int]] = {}
        self.execution_seconds: Final = Histogram(SECONDS)
        #: Queue times of requests that were executed, and of those that were not.
        self.waited_seconds: Final = Histogram(SECONDS)
        self.waited_in_vain_seconds: Final = Histogram(SECONDS)
        self.queue_lengths: Final = Histogram(LENGTHS)
        self.seats: Final = Histogram(SEATS)

    def reject(self, reason: str) -> None:
        """Count one rejected request."""
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
