"""The order in which waiting keys are handed out: by priority, then by age, and none waits for ever."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")

#: Every so many takes the oldest key of all goes first, whatever its priority: with n keys older than it, a key is
#: handed out within FAIR_TAKE · (n + 1) takes, however many keys of a higher priority arrive.
FAIR_TAKE: Final = 8


class PriorityOrder(Generic[K]):
    """Distinct keys, each with a priority (larger first).

    A key that is added again keeps its age and the larger of its priorities. The bound is the number of distinct keys.
    """

    def __init__(self) -> None:
        #: Priority → keys with the number of their arrival, oldest first (a moved key comes late in its new level).
        #: A plain dict finds its first key slowly once many before it were taken out.
        self._levels: dict[int, OrderedDict[K, int]] = {}
        #: Where each key is.
        self._priority: dict[K, int] = {}
        self._arrivals = 0
        self._takes = 0

    def __len__(self) -> int:
        return len(self._priority)

    def __contains__(self, key: object) -> bool:
        return key in self._priority

    def add(self, key: K, priority: int) -> None:
        """Put in, or raise the priority of a key that is in."""
        known = self._priority.get(key)
        if known is None:
            self._arrivals += 1
            arrival = self._arrivals
        elif known >= priority:
            return
        else:
            arrival = self._remove(key, known)
        self._priority[key] = priority
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = OrderedDict()
        level[key] = arrival

    def take(self) -> tuple[K, int]:
        """The next key, and its priority. Raises ``IndexError`` when there is none."""
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
