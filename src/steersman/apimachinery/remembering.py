"""Answers of pure rules, remembered by what the rule was asked about.

Controllers write the same pod spec thousands of times. Writing a tree as JSON and hashing it is C code and takes
microseconds; walking it in Python takes a hundred times as long.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from steersman.apimachinery.cache_sizes import CacheSize
from steersman.apimachinery.codec import encode

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

_Answer = TypeVar("_Answer")

_DIGEST_BYTES: Final = 16
#: What an entry takes beside its key and answer.
_ENTRY_BYTES: Final = 100


def digest(text: bytes) -> bytes:
    """Stands for a text; two texts do not share it, by any likelihood, not even when somebody tries."""
    return blake2b(text, digest_size=_DIGEST_BYTES).digest()


def digest_of(tree: Any) -> bytes:
    """Stands for a tree. Trees with their keys in another order have another digest."""
    return digest(encode(tree))


class Remembered(Generic[_Answer]):
    """A bounded table of answers. When it is full, all are forgotten: that costs less than an order of use."""

    __slots__ = ("_answers", "_bytes_max", "_entries_max", "_size", "get")

    def __init__(self, *, entries_max: int = 2048, bytes_max: int = 0, name: str = "") -> None:
        """``bytes_max``: bound of the sizes that ``put`` is given; only for a cache with a ``name``, as metrics have it."""
        self._answers: dict[Hashable, _Answer] = {}
        self._entries_max: Final = entries_max
        self._bytes_max: Final = bytes_max
        self._size: CacheSize | None = CacheSize(name) if name else None
        #: The answer to what has this key, or None.
        self.get: Final = self._answers.get

    def put(self, key: Hashable, answer: _Answer, size_bytes: int = 0) -> None:
        """Remember an answer that takes ``size_bytes`` with its key, unless it would fill an eighth of the table."""
        size = self._size
        if size is None:
            if len(self._answers) >= self._entries_max:
                self._answers.clear()
        else:
            size_bytes += _ENTRY_BYTES
            if size_bytes > self._bytes_max // 8:
                return
            if len(self._answers) >= self._entries_max or size.size_bytes + size_bytes > self._bytes_max:
                self._answers.clear()
                size.size_bytes = 0
            size.size_bytes += size_bytes
        self._answers[key] = answer


class Doorkeeper:
    """Admits keys to a cache when they come for the second time: most come once, and are not worth the memory.

    It keeps a bounded set of hashes, so a key may be admitted early because another one has its hash.
    """

    __slots__ = ("_entries_max", "_hashes")

    def __init__(self, *, entries_max: int = 4096) -> None:
        self._entries_max: Final = entries_max
        self._hashes: set[int] = set()

    def admits(self, key: Hashable) -> bool:
        """Return whether the key came before; note that it came."""
        number = hash(key)
        if number in self._hashes:
            return True
        if len(self._hashes) >= self._entries_max:
            self._hashes.clear()
        self._hashes.add(number)
        return False
