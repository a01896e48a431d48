"""Order of queued keys: by priority, then by age, without starvation."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")

#: Every FAIR_TAKE-th take returns the oldest key of any priority: a key with n older ones is handed out within
#: FAIR_TAKE · (n + 1) takes, regardless of the arrival of keys with higher priority.
FAIR_TAKE: Final = 8


class PriorityOrder(Generic[K]):
    """Distinct keys, each with a priority (higher first).

    A key that is added again keeps its age and the higher priority. Bounded by the number of distinct keys.
    """

    def __init__(self) -> None:
        #: Priority → keys with their sequence number, oldest first (a promoted key is appended to its new level).
        #: OrderedDict: the first key of a plain dict takes linear time after many deletions at its front.
        self._levels: dict[int, OrderedDict[K, int]] = {}
        #: Level of each key.
        self._priority: dict[K, int] = {}
        self._arrivals = 0
        self._takes = 0

    def __len__(self) -> int:
        return len(self._priority)

    def __contains__(self, key: object) -> bool:
        return key in self._priority

    def add(self, key: K, priority: int) -> None:
        """Add a key, or raise the priority of a queued key."""
        current = self._priority.get(key)
        if current is None:
            self._arrivals += 1
            arrival = self._arrivals
        elif current >= priority:
            return
        else:
            arrival = self._remove(key, current)
        self._priority[key] = priority
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = OrderedDict()
        level[key] = arrival

    def take(self) -> tuple[K, int]:
        """Remove and return the next key and its priority. Raises ``IndexError`` when empty."""
        levels = self._levels
        if not levels:
            raise IndexError("take from an empty queue")
        self._takes += 1
        if len(levels) == 1:
            priority = next(iter(levels))
        elif self._takes % FAIR_TAKE == 0:
            priority = min(levels, key=lambda level: next(iter(levels[level].values())))
        else:
            priority = max(levels)
        key = next(iter(levels[priority]))
        self._remove(key, priority)
        return key, priority

    def _remove(self, key: K, priority: int) -> int:
        level = self._levels[priority]
        arrival = level.pop(key)
        if not level:
            del self._levels[priority]
        del self._priority[key]
        return arrival
