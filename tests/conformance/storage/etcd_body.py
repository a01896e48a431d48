"""The etcd store as the suite sees it: a part of a shared member that begins at revision 0, with leases on the test's clock."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from steersman.asynckit.clock import RealClock
from steersman.storage.etcd.store import EtcdStore
from steersman.storage.store import (
    Batch,
    Compacted,
    Conflict,
    FutureRevision,
    LeaseNotFound,
    StoreError,
    Unavailable,
)


class EtcdBody:
    """Subtracts the member's revision at the start from all revisions.

    Leases end when the test's clock says so: an expired lease is revoked, which is what etcd's leader does with it.
    """

    def __init__(self, store, clock):
        self.inner = store
        self._clock = clock
        self._base = store.revision
        self._timers = {}
        self._granted = {}
        self._revoking = set()

    @classmethod
    async def open(cls, url, *, prefix, clock):
        store = await EtcdStore.open([url], clock=RealClock(), prefix=prefix, compaction_interval_seconds=0)
        return cls(store, clock)

    # -- revisions -----------------------------------------------------------------------------------------------------

    def _in(self, revision):
        return revision + self._base if revision else revision

    def _out(self, revision):
        return max(0, revision - self._base)

    def _kv(self, kv):
        return kv and msgspec.structs.replace(
            kv, create_revision=self._out(kv.create_revision), mod_revision=self._out(kv.mod_revision)
        )

    def _error(self, error):
        if isinstance(error, Conflict):
            return Conflict(error.key, self._kv(error.current))
        if isinstance(error, Compacted):
            return Compacted(self._out(error.revision), self._out(error.compact_revision))
        if isinstance(error, FutureRevision):
            return FutureRevision(self._out(error.revision), self._out(error.current))
        return error

    async def _call(self, awaitable):
        try:
            return await awaitable
        except StoreError as error:
            raise self._error(error) from error

    # -- the protocol --------------------------------------------------------------------------------------------------

    @property
    def revision(self):
        return self._out(self.inner.revision)

    @property
    def compact_revision(self):
        return self._out(self.inner.compact_revision)

    async def current_revision(self):
        return self._out(await self.inner.current_revision())

    async def reached(self, revision, *, seconds):
        return await self.inner.reached(self._in(revision), seconds=seconds)

    async def get(self, key, *, revision=0):
        return self._kv(await self._call(self.inner.get(key, revision=self._in(revision))))

    async def range(self, prefix, *, start_after="", limit=0, revision=0, keys_only=False):
        answer = await self._call(
            self.inner.range(
                prefix, start_after=start_after, limit=limit, revision=self._in(revision), keys_only=keys_only
            )
        )
        return msgspec.structs.replace(
            answer, kvs=[self._kv(kv) for kv in answer.kvs], revision=self._out(answer.revision)
        )

    async def txn(self, ops):
        shifted = [msgspec.structs.replace(op, expected=op.expected and self._in(op.expected)) for op in ops]
        return self._out(await self._call(self.inner.txn(shifted)))

    async def watch(self, prefix, sink, *, after_revision, on_lost):
        def deliver(batch):
            sink(Batch(tuple(map(self._event, batch.events)), self._out(batch.revision)))

        return await self._call(
            self.inner.watch(
                prefix,
                deliver,
                after_revision=after_revision + self._base,
                on_lost=lambda error: on_lost(self._error(error)),
            )
        )

    def _event(self, event):
        return msgspec.structs.replace(
            event, create_revision=self._out(event.create_revision), mod_revision=self._out(event.mod_revision)
        )

    async def compact(self, revision):
        await self._call(self.inner.compact(revision + self._base))

    async def check_writable(self):
        await self.inner.check_writable()

    async def size_bytes(self):
        return await self.inner.size_bytes()

    # -- leases --------------------------------------------------------------------------------------------------------

    async def grant_lease(self, ttl_seconds, *, lease_id=0):
        # etcd keeps it longer than any test runs
        lease_id = await self.inner.grant_lease(ttl_seconds * 1000, lease_id=lease_id)
        self._granted[lease_id] = ttl_seconds
        self._start_timer(lease_id)
        return lease_id

    def _start_timer(self, lease_id):
        if lease_id in self._timers:
            self._timers[lease_id].cancel()
        self._timers[lease_id] = self._clock.timer(self._granted[lease_id], lambda: self._expire(lease_id))

    def _expire(self, lease_id):
        task = asyncio.ensure_future(self._revoke(lease_id))
        self._revoking.add(task)
        task.add_done_callback(self._revoking.discard)

    async def _revoke(self, lease_id):
        with contextlib.suppress(LeaseNotFound, Unavailable):
            await self.inner.revoke_lease(lease_id)

    async def keep_alive(self, lease_id):
        await self.inner.keep_alive(lease_id)
        self._start_timer(lease_id)

    async def revoke_lease(self, lease_id):
        await self.inner.revoke_lease(lease_id)

    async def close(self):
        """End the leases first: one that etcd ended later would add revisions to another test."""
        for lease_id in list(self._granted):
            await self._revoke(lease_id)
            self._granted.pop(lease_id, None)
        await self.inner.close()
