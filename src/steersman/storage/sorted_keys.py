"""Sorted set of keys in chunks: an insertion moves the keys of one chunk only.

A key is located by the chunks' lower bounds, then within its chunk; full chunks are split, small neighbours joined.
With n keys in chunks of at most c, a change costs O(c), and occasionally O(n/c) for the list of chunks; memory is that
of a flat list. Values belong in a separate dict, so that updating a value does not touch the set.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Final

#: Maximal keys of a chunk: the square root of a million.
_CHUNK_MAX: Final = 1024


class SortedKeys:
    """Set of keys in byte order (Python compares strings by code points, which is equivalent)."""

    __slots__ = ("_bounds", "_chunk_max", "_chunks")

    def __init__(self, keys: list[str] | None = None, *, chunk_max: int = _CHUNK_MAX) -> None:
        """``keys`` must be sorted and distinct."""
        self._chunk_max = chunk_max
        initial = [] if keys is None else keys
        half = chunk_max // 2
        #: Chunks are not empty, except for a single one.
        self._chunks: list[list[str]] = [initial[at : at + half] for at in range(0, len(initial), half)] or [[]]
        #: Lower bound of each chunk; all keys of earlier chunks are less.
        self._bounds: list[str] = ["", *[chunk[0] for chunk in self._chunks[1:]]]

    def add(self, key: str) -> None:
        """Add a key, which must be absent; this is not checked."""
        at = bisect_right(self._bounds, key) - 1
        chunk = self._chunks[at]
        insort(chunk, key)
        if len(chunk) > self._chunk_max:
            self._split(at, key)

    def remove(self, key: str) -> None:
        """Remove a key. Raises ``KeyError`` when it is absent."""
        at = bisect_right(self._bounds, key) - 1
        chunk = self._chunks[at]
        place = bisect_left(chunk, key)
        if place == len(chunk) or chunk[place] != key:
            raise KeyError(key)
        del chunk[place]
        if not self._join(at - 1):
            self._join(at)

    def between(self, low: str = "", high: str = "") -> list[str]:
        """Return a new list of the keys from ``low`` up to, excluding, ``high`` (empty: unbounded)."""
        if high and low >= high:
            return []
        first = bisect_right(self._bounds, low) - 1
        last = (bisect_left(self._bounds, high) if high else len(self._chunks)) - 1
        chunk = self._chunks[last]
        end = bisect_left(chunk, high) if high else len(chunk)
        begin = bisect_left(self._chunks[first], low)
        if first == last:
            return chunk[begin:end]
        result = self._chunks[first][begin:]
        for at in range(first + 1, last):
            result += self._chunks[at]
        result += chunk[:end]
        return result

    def _split(self, at: int, key: str) -> None:
        """Split a chunk that ``key`` made too long: into halves, or at the very end into the chunk and a new one."""
        chunk = self._chunks[at]
        is_end = at == len(self._chunks) - 1 and chunk[-1] == key
        middle = len(chunk) - 1 if is_end else len(chunk) // 2
        self._chunks[at : at + 1] = [chunk[:middle], chunk[middle:]]
        self._bounds.insert(at + 1, chunk[middle])

    def _join(self, at: int) -> bool:
        """Join a chunk with the next if both are small or one is empty; return whether it did."""
        if not 0 <= at < len(self._chunks) - 1:
            return False
        chunk, following = self._chunks[at], self._chunks[at + 1]
        if chunk and following and len(chunk) + len(following) > self._chunk_max // 2:
            return False
        self._chunks[at : at + 2] = [chunk + following]
        del self._bounds[at + 1]
        return True
