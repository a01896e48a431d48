"""What is forgotten of the past, and when."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from steersman.storage.retention import Retention
from steersman.storage.store import Unavailable

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.storage.sqlite.files import Files
    from steersman.storage.sqlite.pipeline import Pipeline

_log = logging.getLogger(__name__)

#: The history is looked at after so many writes, besides by the clock.
CHECK_ROWS = 2000


class Compactor:
    """Owns the compact revision.

    What is forgotten is first marked so, durably, and from then on refused to readers; the writer then deletes it in
    pieces between its batches. A crash on the way leaves rows that nobody reads, deleted after the next start.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        files: Files,
        *,
        clock: Clock,
        compact_revision: int,
        retention_seconds: float,
        history_max_bytes: int,
    ) -> None:
        self.compact_revision = compact_revision
        self._pipeline = pipeline
        self._files = files
        self._clock = clock
        self._history_max_bytes = history_max_bytes
        self._retention = Retention(
            retention_seconds=retention_seconds, now=clock.monotonic(), revision=pipeline.revision
        )
        if compact_revision:
            pipeline.writer.forget(compact_revision)

    async def compact(self, revision: int) -> None:
        """Forget what is older than ``revision``. Returns when that is marked, before the space is free."""
        if revision <= self.compact_revision:
            return
        self.compact_revision = revision
        await self._pipeline.accept(
            (),
            [("UPDATE mark SET revision = ? WHERE name = 'compacted'", (revision,))],
            on_settled=lambda kept: self._pipeline.writer.forget(revision) if kept else None,
        )

    async def keep_bounds(self) -> None:
        """Compact as far as age and size ask for it. A failure is logged; the next call tries again."""
        try:
            revision = self._retention.expired(now=self._clock.monotonic(), revision=self._pipeline.revision)
            if self._files.read(lambda reader: reader.history_bytes()) > self._history_max_bytes:
                excess = await self._files.read_in_thread(
                    lambda reader: reader.excess_revision(bytes_max=self._history_max_bytes)
                )
                revision = max(revision, excess)
            await self.compact(revision)
        except Unavailable as error:
            _log.warning("history was not compacted, will be tried again: %s", error)
