"""Counters of the events of watches, for metrics.

Events are encoded once for all watchers of a feed. So the sizes of a read are listed once, and only the number of watchers that
took it is counted for each of them; ``settle`` turns both into a histogram.

Upstream: ``WatchEventsSizes`` and ``watchListLatencies`` of staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from steersman.apimachinery.histogram import Histogram, exponential_bounds

if TYPE_CHECKING:
    from steersman.apiserver.generic.feed import Feed

SIZE_BOUNDS: Final = exponential_bounds(1024, 2, 8)
#: Seconds.
LIST_BOUNDS: Final[tuple[float, ...]] = (
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip


class WatchCounts:
    """Counters of the watches of one resource in one version."""

    __slots__ = ("_sizes", "feeds", "list_durations")

    def __init__(self) -> None:
        self._sizes: Final = Histogram(SIZE_BOUNDS)
        #: Feeds whose last reads have not been settled.
        self.feeds: Final[WeakSet[Feed]] = WeakSet()
        #: Time until the initial events were complete, by scope (``cluster``, ``namespace``, ``resource``).
        self.list_durations: Final[dict[str, Histogram]] = {}

    @property
    def sizes(self) -> Histogram:
        """Return the sizes of all events sent, in bytes."""
        for feed in self.feeds:
            feed.settle()
        return self._sizes

    def observe_events(self, sizes: list[int], watchers: int) -> None:
        """Count events that a number of watchers received."""
        for size in sizes:
            self._sizes.observe(size, watchers)

    def observe_list(self, scope: str, seconds: float) -> None:
        """Record the time until the initial events of a watch were complete."""
        durations = self.list_durations.get(scope)
        if durations is None:
            durations = self.list_durations[scope] = Histogram(LIST_BOUNDS)
        durations.observe(seconds)


class JoinedRead:
    """Events of one read of a feed, and how many watchers took them since they were last counted."""

    __slots__ = ("frames", "sizes", "start", "stop", "watchers")

    def __init__(self, start: int, stop: int, frames: list[bytes]) -> None:
        self.start: Final = start
        self.stop: Final = stop
        self.frames: Final = b"".join(frames)
        self.sizes: Final = [len(frame) for frame in frames]
        self.watchers = 1
