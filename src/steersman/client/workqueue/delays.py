"""Heap of delayed keys with one timer for all. Upstream: ``workqueue.waitForPriorityQueue``."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(slots=True)
class _Entry(Generic[K]):
    """Heap entry; ``current`` is False once an earlier entry for the same key replaced it."""

    due: float
    serial: int
    key: K
    priority: int
    current: bool = True

    def __lt__(self, other: _Entry[K]) -> bool:
        return (self.due, self.serial) < (other.due, other.serial)


class DelayHeap(Generic[K]):
    """Distinct keys with their due time; the earlier of two times for one key wins."""

    def __init__(self) -> None:
        self._heap: list[_Entry[K]] = []
        self._entries: dict[K, _Entry[K]] = {}
        self._serials = itertools.count()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def next_due(self) -> float | None:
        """Earliest due time; None if the heap is empty."""
        while self._heap and not self._heap[0].current:
            heapq.heappop(self._heap)
        return self._heap[0].due if self._heap else None

    def add(self, key: K, due: float, priority: int) -> None:
        """Add ``key``; the earlier time and the higher priority win."""
        existing = self._entries.get(key)
        if existing is not None:
            existing.priority = priority = max(priority, existing.priority)
            if existing.due <= due:
                return
            existing.current = False
        entry = _Entry(due, next(self._serials), key, priority)
        self._entries[key] = entry
        heapq.heappush(self._heap, entry)

    def pop_due(self, now: float) -> list[tuple[K, int]]:
        """Remove and return the keys that are due at ``now``, in order, with their priorities."""
        due_keys: list[tuple[K, int]] = []
        while (due := self.next_due) is not None and due <= now:
            entry = heapq.heappop(self._heap)
            del self._entries[entry.key]
            due_keys.append((entry.key, entry.priority))
        return due_keys

    def clear(self) -> None:
        """Remove all keys."""
        self._heap.clear()
        self._entries.clear()
