"""Keys in order, in chunks: a key in the middle moves its chunk, not all that come after it.

A flat sorted list moves eight bytes for every key behind the place, 15 µs at 100,000 keys. Here a key is found among
the chunks' lower bounds, then in its chunk; full chunks are split, small neighbours joined. With n keys in chunks
of c at most, a change costs O(c), and now and then O(n/c) for the list of chunks; memory is that of a flat list.

What belongs to a key lies in a dict beside it: a key that stays where it is costs nothing here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Final

#: Keys of a chunk: √n of a million, and still one small move.
_CHUNK_MAX: Final = 1024


class SortedKeys:
    """A set of keys in byte order (Python compares strings by code points, which is the same)."""

    __slots__ = ("_bounds", "_chunk_max", "_chunks")

    def __init__(self, keys: list[str] | None = None, *, chunk_max: int = _CHUNK_MAX) -> None:
        """``keys`` must be in order, each once."""
        self._chunk_max = chunk_max
        given = [] if keys is None else keys
        half = chunk_max // 2
        #: None is empty, but for a single one.
        self._chunks: list[list[str]] = [given[at : at + half] for at in range(0, len(given), half)] or [[]]
        #: For each chunk: none of its keys is less, and all keys of the chunks before are.
        self._bounds: list[str] = ["", *[chunk[0] for chunk in self._chunks[1:]]]

    def add(self, key: str) -> None:
        """Take in a key that is not here. It is the caller who knows: nobody looks."""
        at = bisect_right(self._bounds, key) - 1
        chunk = self._chunks[at]
        insort(chunk, key)
        if len(chunk) > self._chunk_max:
            self._split(at, key)

    def remove(self, key: str) -> None:
        """Take out a key. Raises ``KeyError`` when it is not here."""
        at = bisect_right(self._bounds, key) - 1
        chunk = self._chunks[at]
        place = bisect_left(chunk, key)
        if place == len(chunk) or chunk[place] != key:
            raise KeyError(key)
        del chunk[place]
        if not self._join(at - 1):
            self._join(at)

    def between(self, low: str = "", high: str = "") -> list[str]:
        """The keys that are not less than ``low`` and less than ``high`` (empty: all that follow). A new list."""
        if high and low >= high:
            return []
        first = bisect_right(self._bounds, low) - 1
        last = (bisect_left(self._bounds, high) if high else len(self._chunks)) - 1
        chunk = self._chunks[last]
        end = bisect_left(chunk, high) if high else len(chunk)
        begin = bisect_left(self._chunks[first], low)
        if first == last:
            return chunk[begin:end]
        found = self._chunks[first][begin:]
        for at in range(first + 1, last):
            found += self._chunks[at]
        found += chunk[:end]
        return found

    def _split(self, at: int, key: str) -> None:
        """Make two chunks of one that ``key`` made too long: halves, or at the very end, where more will come, a new one."""
        chunk = self._chunks[at]
        is_end = at == len(self._chunks) - 1 and chunk[-1] == key
        middle = len(chunk) - 1 if is_end else len(chunk) // 2
        self._chunks[at : at + 1] = [chunk[:middle], chunk[middle:]]
        self._bounds.insert(at + 1, chunk[middle])

    def _join(self, at: int) -> bool:
        """Make one of the chunk and the next if they are small together, or one is empty."""
        if not 0 <= at < len(self._chunks) - 1:
            return False
        chunk, following = self._chunks[at], self._chunks[at + 1]
        if chunk and following and len(chunk) + len(following) > self._chunk_max // 2:
            return False
        self._chunks[at : at + 2] = [chunk + following]
        del self._bounds[at + 1]
        return True
