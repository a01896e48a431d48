"""Histogram with fixed bounds, as metrics count durations and sizes."""

from __future__ import annotations

from bisect import bisect_left
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

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def add(self, other: Histogram) -> None:
        """Count the values of a histogram with the same bounds."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def buckets(self) -> list[tuple[str, int]]:
        """Return the label ``le`` and the cumulated count of each bucket."""
        result: list[tuple[str, int]] = []
        cumulated = 0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            cumulated += count
            result.append((str(int(bound)) if bound == int(bound) else repr(bound), cumulated))
        result.append(("+Inf", cumulated + self.counts[-1]))
        return result
