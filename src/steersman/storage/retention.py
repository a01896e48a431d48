"""Retention of history by age."""

from __future__ import annotations

from collections import deque

#: Spans per retention time: history is kept at most a sixteenth longer than configured.
_SPANS = 16


class Retention:
    """Times at which revisions were reached, to find revisions older than the retention time."""

    def __init__(self, *, retention_seconds: float, now: float, revision: int) -> None:
        self._retention_seconds = retention_seconds
        #: [first time, last time, last revision] of spans in which revisions were reached, oldest first.
        self._spans: deque[list[float]] = deque()
        self._revision = revision
        if revision:
            self._spans.append([now, now, revision])

    def expired(self, *, now: float, revision: int) -> int:
        """Record the store's revision; return the newest revision older than the retention time, 0 for none."""
        spans = self._spans
        if revision > self._revision:
            self._revision = revision
            if spans and now - spans[-1][0] < self._retention_seconds / _SPANS:
                spans[-1][1:] = now, revision
            else:
                spans.append([now, now, revision])
        expired = 0
        while spans and spans[0][1] <= now - self._retention_seconds:
            expired = int(spans.popleft()[2])
        return expired
