"""Decides how far history may be forgotten, by age."""

from __future__ import annotations

from collections import deque

#: Marks kept per retention time; what is forgotten is at most 1/16 older than asked for.
_MARKS = 16


class Retention:
    """Remembers when revisions were reached, and says which are old enough to go."""

    def __init__(self, *, retention_seconds: float, now: float, revision: int) -> None:
        self._retention_seconds = retention_seconds
        #: (monotonic time, the revision reached by then), oldest first, at least ``retention / _MARKS`` apart.
        self._marks: deque[tuple[float, int]] = deque([(now, revision)])

    def expired(self, *, now: float, revision: int) -> int:
        """Note that the store is at ``revision``; the newest revision older than the retention time, 0 for none."""
        marks = self._marks
        if not marks or now - marks[-1][0] >= self._retention_seconds / _MARKS:
            marks.append((now, revision))
        expired = 0
        while marks and marks[0][0] <= now - self._retention_seconds:
            expired = marks.popleft()[1]
        return expired
