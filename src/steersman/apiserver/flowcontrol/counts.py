"""Counters of a FlowSchema in a priority level, for metrics."""

from __future__ import annotations

from typing import Final

from steersman.apimachinery.histogram import Histogram

#: Upper bounds of upstream's histograms.
SECONDS: Final[tuple[float, ...]] = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
LENGTHS: Final = (0, 10, 25, 50, 100, 250, 500, 1000)
SEATS: Final = (1, 2, 4, 10)


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
