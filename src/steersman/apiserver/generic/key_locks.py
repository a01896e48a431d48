"""Locks of contended keys: after a conflict the writers of one key write one after another instead of conflicting again."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class KeyLocks:
    """One lock per contended key. A writer takes it after its first conflict; first attempts are optimistic."""

    def __init__(self) -> None:
        #: Key → the lock, and the number of its holders and waiters; removed with the last.
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Hold the lock of a key. Waiters acquire it in the order of their calls."""
        lock, count = self._locks.get(key) or (asyncio.Lock(), 0)
        self._locks[key] = (lock, count + 1)
        try:
            async with lock:
                yield
        finally:
            lock, count = self._locks[key]
            if count == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, count - 1)

    def __len__(self) -> int:
        return len(self._locks)
