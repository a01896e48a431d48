"""Bounded caches of pure functions' results.

Controllers write the same Pod spec thousands of times. Encoding a tree as JSON and hashing it runs in C and takes
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
#: Memory of an entry in addition to its key and value.
_ENTRY_BYTES: Final = 100


def digest(text: bytes) -> bytes:
    """Return a collision-resistant digest of a text."""
    return blake2b(text, digest_size=_DIGEST_BYTES).digest()


def digest_of(tree: Any) -> bytes:
    """Return the digest of a tree, which depends on the order of keys."""
    return digest(encode(tree))


class BoundedCache(Generic[_Answer]):
    """Bounded cache. It is cleared when full, which is cheaper than keeping an LRU order."""

    __slots__ = ("_answers", "_bytes_max", "_entries_max", "_size", "get")

    def __init__(self, *, entries_max: int = 2048, bytes_max: int = 0, name: str = "") -> None:
        """``bytes_max`` bounds the sum of the sizes given to ``put``; only for caches with a ``name`` for the metric."""
        self._answers: dict[Hashable, _Answer] = {}
        self._entries_max: Final = entries_max
        self._bytes_max: Final = bytes_max
        self._size: CacheSize | None = CacheSize(name) if name else None
        #: Return the value of a key, or None.
        self.get: Final = self._answers.get

    def put(self, key: Hashable, answer: _Answer, size_bytes: int = 0) -> None:
        """Cache a value of ``size_bytes`` with its key, unless it would fill an eighth of the cache."""
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
    """Admission policy of a cache: keys are admitted from their second occurrence on, as most occur once.

    It keeps a bounded set of hashes, so a key may be admitted early because of a hash collision.
    """

    __slots__ = ("_entries_max", "_hashes")

    def __init__(self, *, entries_max: int = 4096) -> None:
        self._entries_max: Final = entries_max
        self._hashes: set[int] = set()

    def admits(self, key: Hashable) -> bool:
        """Report whether the key occurred before, and record it."""
        number = hash(key)
        if number in self._hashes:
            return True
        if len(self._hashes) >= self._entries_max:
            self._hashes.clear()
        self._hashes.add(number)
        return False
