"""Write health of the store: whether a write would be durable now."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from steersman.asynckit.timeouts import Timeout
from steersman.storage.store import Stalled, Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.storage.sqlite.pipeline import Pipeline

#: Maximal age of a commit that proves that the store is writable.
_FRESH_SECONDS = 1.0
#: Upstream's ``--etcd-healthcheck-timeout``.
_PROBE_SECONDS = 2.0
#: Free space below which the disk counts as full.
_FREE_BYTES_MIN = 1 << 20
#: Commit without effect that writes a page: one more reserved revision is harmless. (SQLite skips pages that an UPDATE
#: leaves unchanged.)
_PROBE = ("UPDATE session SET reserved_revision = reserved_revision + 1", ())


class WriteHealth:
    """Health check based on the last commit if it is recent, else on a probe commit, which concurrent callers share."""

    def __init__(self, path: Path, pipeline: Pipeline, *, clock: Clock) -> None:
        self._folder = path.absolute().parent
        self._pipeline = pipeline
        self._clock = clock
        self._fresh_until = 0.0
        self._refusals = pipeline.refusals
        self._probe: asyncio.Future[int] | None = None

    async def check(self) -> None:
        """Raise ``Unavailable`` unless a write would be durable soon, ``Stalled`` if a probe took too long."""
        space = os.statvfs(self._folder)
        free_bytes = space.f_bavail * space.f_frsize
        if free_bytes < _FREE_BYTES_MIN:
            raise Unavailable(f"the disk is full: {free_bytes >> 10} KiB are free in {self._folder}")
        now = self._clock.monotonic()
        if self._refusals == self._pipeline.refusals and now < self._fresh_until and not self._pipeline.is_stalled:
            return
        self._refusals = self._pipeline.refusals
        if self._probe is None or self._probe.done():
            self._probe = self._pipeline.accept((), [_PROBE])
            self._probe.add_done_callback(_retrieve)
        try:
            async with Timeout(_PROBE_SECONDS, clock=self._clock):
                await asyncio.shield(self._probe)
        except TimeoutError:
            raise Stalled(
                f"a write in {self._folder} was not durable within {_PROBE_SECONDS:g} s: the disk hangs, or the writer process "
                "is stopped"
            ) from None
        self._fresh_until = self._clock.monotonic() + _FRESH_SECONDS


def _retrieve(probe: asyncio.Future[int]) -> None:
    """Mark the error as retrieved: a probe may fail after its callers have timed out."""
    if not probe.cancelled():
        probe.exception()
