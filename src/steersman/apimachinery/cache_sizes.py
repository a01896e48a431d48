"""Sizes of caches for the metric ``steersman_cache_bytes``; each cache registers its own counter for its lifetime."""

from __future__ import annotations

from collections import Counter
from typing import Final
from weakref import WeakSet


class CacheSize:
    """Estimated bytes of one cache."""

    __slots__ = ("__weakref__", "name", "size_bytes")

    def __init__(self, name: str) -> None:
        #: Caches of the same name are summed.
        self.name: Final = name
        self.size_bytes = 0
        _sizes.add(self)


_sizes: Final[WeakSet[CacheSize]] = WeakSet()


def cache_sizes() -> dict[str, int]:
    """Return the bytes of all caches by name."""
    total: Counter[str] = Counter()
    for size in list(_sizes):
        total[size.name] += size.size_bytes
    return dict(total)
