"""Histogram with fixed bounds, as metrics count durations."""

from __future__ import annotations

from typing import Final


def exponential_bounds(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return ``count`` upper bounds. Upstream: ``ExponentialBuckets`` of component-base/metrics."""
    return tuple([start * factor**position for position in range(count)])


class Histogram:
    """Counts of values by bucket. Values above the last bound have a bucket of their own."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds: Final = bounds
        #: By bucket, not cumulated.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(self.counts)

    def observe(self, value: float) -> None:
        """Count a value."""
        position = 0
        for bound in self.bounds:
            if value <= bound:
                break
            position += 1
        self.counts[position] += 1
        self.total += value

    def add(self, other: Histogram) -> None:
        """Count the values of a histogram with the same bounds."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total
