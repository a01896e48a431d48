"""Compaction of history, on request and by age and size."""

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

#: Bounds are checked after this many rows, and periodically.
CHECK_ROWS = 2000


class Compactor:
    """Owner of the compact revision.

    Compacted revisions are first marked durably and refused to readers; then the writer deletes their rows in steps
    between its batches. A crash meanwhile leaves unreadable rows, which are deleted after the next start.
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
        """Compact up to ``revision``. Returns after the durable mark, before the space is freed."""
        if revision <= self.compact_revision:
            return
        self.compact_revision = revision
        await self._pipeline.accept(
            (),
            [("UPDATE mark SET revision = ? WHERE name = 'compacted'", (revision,))],
            on_settled=lambda is_committed: self._pipeline.writer.forget(revision) if is_committed else None,
        )

    async def keep_bounds(self) -> None:
        """Compact as required by age and size. A failure is logged and retried with the next call."""
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
