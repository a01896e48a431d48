"""Keys that are due later: one heap, so that any number of them needs one timer."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(slots=True)
class _Entry(Generic[K]):
    """A place in the heap; one that was overtaken by an earlier one for the same key is no longer ``current``."""

    due: float
    serial: int
    key: K
    priority: int
    current: bool = True

    def __lt__(self, other: _Entry[K]) -> bool:
        return (self.due, self.serial) < (other.due, other.serial)


class DelayHeap(Generic[K]):
    """Distinct keys with the moment at which they are due; of two moments for one key the earlier counts."""

    def __init__(self) -> None:
        self._heap: list[_Entry[K]] = []
        self._entries: dict[K, _Entry[K]] = {}
        self._serials = itertools.count()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def next_due(self) -> float | None:
        """When the first key is due; None when none waits."""
        while self._heap and not self._heap[0].current:
            heapq.heappop(self._heap)
        return self._heap[0].due if self._heap else None

    def add(self, key: K, due: float, priority: int) -> None:
        """Remember ``key``; the earlier moment and the larger priority win."""
        known = self._entries.get(key)
        if known is not None:
            known.priority = priority = max(priority, known.priority)
            if known.due <= due:
                return
            known.current = False
        entry = _Entry(due, next(self._serials), key, priority)
        self._entries[key] = entry
        heapq.heappush(self._heap, entry)

    def pop_due(self, now: float) -> list[tuple[K, int]]:
        """Take out every key that is due by ``now``, in order, with its priority."""
        found: list[tuple[K, int]] = []
        while (due := self.next_due) is not None and due <= now:
            entry = heapq.heappop(self._heap)
            del self._entries[entry.key]
            found.append((entry.key, entry.priority))
        return found

    def clear(self) -> None:
        """Forget all of them."""
        self._heap.clear()
        self._entries.clear()
