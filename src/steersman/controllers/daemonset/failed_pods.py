"""Backoff for replacing failed Pods, so that a kubelet that rejects them is not flooded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable

FIRST_SECONDS: Final = 1.0
MOST_SECONDS: Final = 15 * 60.0
#: Maximum number of entries before expired ones are dropped.
_ENTRIES_MAX: Final = 10_000


class _Entry(NamedTuple):
    wait_seconds: float
    since: float


class FailedPods:
    """Backoff by key. ``now`` is a monotonic time in seconds."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}

    def seconds_left(self, key: Hashable, *, now: float) -> float:
        """Return the seconds until the next replacement; 0: immediately."""
        entry = self._entries.get(key)
        return 0.0 if entry is None else max(0.0, entry.since + entry.wait_seconds - now)

    def note(self, key: Hashable, *, now: float) -> None:
        """Record a replacement; the next delay doubles."""
        entry = self._entries.get(key)
        is_reset = entry is None or now - entry.since > 2 * MOST_SECONDS
        wait = FIRST_SECONDS if is_reset or entry is None else min(2 * entry.wait_seconds, MOST_SECONDS)
        self._entries[key] = _Entry(wait, now)
        if len(self._entries) > _ENTRIES_MAX:
            self._drop_rested(now)

    def _drop_rested(self, now: float) -> None:
        self._entries = {
            key: entry for key, entry in self._entries.items() if now - entry.since <= 2 * MOST_SECONDS
        }  # fmt: skip
