"""Durable leases: the table in memory, and its persisted part.

The remaining time after a restart is persisted: the full TTL, unless the lease was partly elapsed at the last checkpoint. So
renewals need no write, except for leases persisted with less; downtime does not count, because no lease can be renewed
meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import TYPE_CHECKING

from steersman.storage.sqlite.schema import POSITIONS_MAX
from steersman.storage.store import Delete, StoreError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.asynckit.tasks import Supervisor
    from steersman.storage.leases import LeaseTable
    from steersman.storage.sqlite.index import Entry
    from steersman.storage.sqlite.pipeline import Pipeline
    from steersman.storage.sqlite.writer import Statement

_log = logging.getLogger(__name__)

#: The remaining time is persisted again when it is this much less than the persisted one …
_CHECKPOINT_SECONDS = 60.0
#: … for at most this many leases per checkpoint.
_CHECKPOINTS_MAX = 256
_RETRY_SECONDS = 1.0


class Leasing:
    """Durable leases: grant, renewal and end."""

    def __init__(self, table: LeaseTable, pipeline: Pipeline, tasks: Supervisor) -> None:
        self._table = table
        self._pipeline = pipeline
        self._tasks = tasks
        #: Ids being persisted.
        self._granting: set[int] = set()

    def restore(self, leases: Iterable[tuple[int, int, float]], entries: Iterable[Entry]) -> None:
        """Restore the leases of a file, as (id, TTL, remaining time), and their keys."""
        for lease_id, ttl_seconds, remaining_seconds in leases:
            self._table.add(lease_id, ttl_seconds=ttl_seconds, remaining_seconds=remaining_seconds)
        for entry in entries:
            if entry.lease_id:
                self._table.move(entry.key, before=0, after=entry.lease_id)

    async def grant(self, lease_id: int, *, ttl_seconds: int) -> None:
        self._table.check_new(lease_id, ttl_seconds=ttl_seconds)
        if lease_id in self._granting:
            raise StoreError(f"lease {lease_id} exists already")
        self._granting.add(lease_id)
        await self._pipeline.accept(
            (),
            [("INSERT OR REPLACE INTO lease VALUES (?, ?, ?)", (lease_id, ttl_seconds, ttl_seconds))],
            on_settled=functools.partial(self._granted, lease_id, ttl_seconds),
        )

    def _granted(self, lease_id: int, ttl_seconds: int, is_committed: bool) -> None:  # noqa: FBT001 — a callback's shape
        self._granting.discard(lease_id)
        if is_committed:
            self._table.add(lease_id, ttl_seconds=ttl_seconds, remaining_seconds=ttl_seconds)

    async def keep_alive(self, lease_id: int) -> None:
        lease = self._table.renew(lease_id)
        if lease.persisted_seconds < lease.ttl_seconds:
            await self._pipeline.accept((), [_remaining(lease_id, lease.ttl_seconds)])
            lease.persisted_seconds = float(lease.ttl_seconds)

    async def end(self, lease_id: int) -> None:
        """Delete the lease and its keys, in one revision unless they exceed one transaction."""
        lease = self._table.get(lease_id)
        lease.ending = True
        keys = sorted(lease.keys)
        last = max(0, len(keys) - 1) // POSITIONS_MAX * POSITIONS_MAX
        ending = [
            self._pipeline.accept([Delete(key) for key in keys[first : first + POSITIONS_MAX]])
            for first in range(0, last, POSITIONS_MAX)
        ]
        ending.append(
            self._pipeline.accept(
                [Delete(key) for key in keys[last:]],
                [("DELETE FROM lease WHERE id = ?", (lease_id,))],
                on_settled=functools.partial(self._ended, lease_id),
            )
        )
        await asyncio.gather(*ending)

    def _ended(self, lease_id: int, is_committed: bool) -> None:  # noqa: FBT001 — a callback's shape
        if is_committed:
            self._table.remove(lease_id)
        else:
            self._table.retry(lease_id, seconds=_RETRY_SECONDS)

    def expired(self, lease_id: int) -> None:
        """Handle the expiration of a lease."""
        self._tasks.start(f"end of lease {lease_id}", self._end_expired(lease_id))

    async def _end_expired(self, lease_id: int) -> None:
        try:
            await self.end(lease_id)
        except Unavailable as error:
            _log.warning("lease %d was not ended, will be tried again: %s", lease_id, error)

    async def checkpoint(self, *, at_least_seconds: float = _CHECKPOINT_SECONDS) -> None:
        """Persist the remaining time of leases that were not renewed, so that a restart does not extend them."""
        statements: list[Statement] = []
        for lease in self._table:
            remaining = self._table.remaining_seconds(lease)
            if lease.persisted_seconds - remaining >= at_least_seconds and len(statements) < _CHECKPOINTS_MAX:
                lease.persisted_seconds = remaining
                statements.append(_remaining(lease.lease_id, remaining))
        if statements:
            try:
                await self._pipeline.accept((), statements)
            except Unavailable as error:
                _log.warning("leases were not written down: %s", error)


def _remaining(lease_id: int, seconds: float) -> Statement:
    return ("UPDATE lease SET remaining_seconds = ? WHERE id = ?", (seconds, lease_id))
