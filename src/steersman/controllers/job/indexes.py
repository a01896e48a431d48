"""Sets of completion indexes in the format of a Job's status: ``0-4,7,9,10``. Pure."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Indexes:
    """Immutable set of integers stored as ranges, as a Job may have 100,000 indexes."""

    #: First and last of each run, in order; between two runs at least one number is missing.
    runs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str | None, below: int) -> Indexes:
        """Parse the status format; numbers from ``below`` on and malformed parts are skipped."""
        runs: list[tuple[int, int]] = []
        for word in (text or "").split(","):
            first, dash, last = word.partition("-")
            if not first.isdecimal() or (dash and not last.isdecimal()) or int(first) >= below:
                continue
            runs.append((int(first), min(int(last) if dash else int(first), below - 1)))
        return cls(_joined(runs))

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Indexes:
        """Return the set of these numbers."""
        return cls(_joined((number, number) for number in numbers))

    def __or__(self, other: Indexes) -> Indexes:
        if not other.runs:
            return self
        return Indexes(_joined([*self.runs, *other.runs]))

    def __contains__(self, number: int) -> bool:
        place = bisect_left(self.runs, number, key=lambda run: run[1])
        return place < len(self.runs) and self.runs[place][0] <= number

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs)

    def __str__(self) -> str:
        return ",".join(_written(first, last) for first, last in self.runs)

    def missing(self, below: int) -> Iterator[int]:
        """Yield the numbers below ``below`` that are not in the set, in order."""
        start = 0
        for first, last in self.runs:
            yield from range(start, min(first, below))
            start = max(start, last + 1)
        yield from range(start, below)

    def in_common(self, other: Indexes) -> int:
        """Return the size of the intersection."""
        return sum(
            max(0, min(last, its_last) - max(first, its_first) + 1)
            for first, last in self.runs
            for its_first, its_last in other.runs
        )


def _written(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def _joined(runs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)
