"""Sizes of caches, for a metric: each cache keeps its own, which goes with it."""

from __future__ import annotations

from collections import Counter
from typing import Final
from weakref import WeakSet


class CacheSize:
    """Bytes that one cache holds, as it estimates them."""

    __slots__ = ("__weakref__", "name", "size_bytes")

    def __init__(self, name: str) -> None:
        #: Caches of one name are added up.
        self.name: Final = name
        self.size_bytes = 0
        _sizes.add(self)


_sizes: Final[WeakSet[CacheSize]] = WeakSet()


def cache_sizes() -> dict[str, int]:
    """Return the bytes in all caches of each name."""
    total: Counter[str] = Counter()
    for size in list(_sizes):
        total[size.name] += size.size_bytes
    return dict(total)
