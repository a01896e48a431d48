"""Index sets of Indexed Jobs, for example ``1,3-5,7``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

Interval = tuple[int, int]

#: Longer texts, even with leading zeros, are not read as numbers.
_DIGITS_MAX: Final = 1000


class IndexesError(ValueError):
    """The text is not a valid index set."""


def parse_interval(text: str, completions: int) -> Interval:
    """Parse ``3`` or ``3-5`` (inclusive). Raises ``IndexesError``."""
    limits = text.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f"the fragment {quote(text)} violates the requirement that an index interval can have at most two parts"
            " separated by '-'"
        )
    first = _index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    last = _index(limits[1], completions)
    if first >= last:
        raise IndexesError(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    index = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX else None
    if index is None or not -(2**63) <= index < 2**63:
        raise IndexesError(f"cannot convert string to integer for index: {quote(text)}")
    if index >= completions:
        raise IndexesError(f"too large index: {quote(text)}")
    return index


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a set, which must be in increasing order. Raises ``IndexesError``."""
    total, last = 0, None
    for fragment in text.split(",") if text else ():
        first, end = parse_interval(fragment, completions)
        if last is not None and last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def first_overlap(left: str, right: str, completions: int) -> int | None:
    """Return the first index in both sets. Malformed intervals are skipped."""
    left_intervals, right_intervals = _readable(left, completions), _readable(right, completions)
    left_interval, right_interval = next(left_intervals, None), next(right_intervals, None)
    while left_interval is not None and right_interval is not None:
        if left_interval[0] <= right_interval[1] and right_interval[0] <= left_interval[1]:
            return max(left_interval[0], right_interval[0])
        if left_interval[0] <= right_interval[0]:
            left_interval = next(left_intervals, None)
        else:
            right_interval = next(right_intervals, None)
    return None


def _readable(text: str, completions: int) -> Iterator[Interval]:
    for fragment in text.split(",") if text else ():
        try:
            yield parse_interval(fragment, completions)
        except IndexesError:
            continue
