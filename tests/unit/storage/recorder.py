"""Recorder of the watches of a store."""

import asyncio

from tests.busy_machine import HANG_SECONDS


class Recorder:
    """Sink of a watch that records its batches, and the error that ended it."""

    def __init__(self):
        self.batches = []
        self.lost = []
        self._changed = asyncio.Event()

    def __call__(self, batch):
        self.batches.append(batch)
        self._changed.set()

    def on_lost(self, error):
        self.lost.append(error)
        self._changed.set()

    @property
    def events(self):
        return [event for batch in self.batches for event in batch.events]

    @property
    def summary(self):
        """Return (key, value, revision) of every event, ordered by revision, then key."""
        rows = [(event.key, event.value, event.mod_revision) for event in self.events]
        return sorted(rows, key=lambda row: (row[2], row[0]))

    async def wait_until(self, condition):
        """Wait for a condition on this recorder."""
        async with asyncio.timeout(HANG_SECONDS):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()
