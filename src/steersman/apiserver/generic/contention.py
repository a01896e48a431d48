"""Turns of contending writers of one key: after a conflict they write one after another instead of all conflicting again."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Turns:
    """One queue per contended key. A writer comes here after it lost once; the first try of each is free."""

    def __init__(self) -> None:
        #: Key → the lock and how many hold it or wait for it; gone with the last of them.
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for the others who came here before for this key."""
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
