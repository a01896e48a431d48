"""Compaction of etcd by the API servers in turn.

Every interval the servers race for one write of ``compact_rev_key``: the server whose transaction finds the key at the last
observed version stores the current revision and compacts to the revision of an interval ago. So history is kept for one to two
intervals, and kube-apiservers on the same etcd participate.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from steersman.grpc.errors import RpcError
from steersman.storage.etcd import messages
from steersman.storage.etcd.errors import COMPACTED, text_of
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.storage.etcd.client import Client

#: Key outside of any ``--etcd-prefix``, as upstream's.
COMPACT_REV_KEY: Final = b"compact_rev_key"

_log = logging.getLogger(__name__)


class Compactor:
    """Participant in compaction every ``interval_seconds``."""

    def __init__(self, client: Client, *, clock: Clock, interval_seconds: float) -> None:
        self._client = client
        self._clock = clock
        self._interval_seconds = interval_seconds
        #: Last observed version of ``compact_rev_key``.
        self._version = 0
        #: Revision of etcd an interval ago; 0 if unknown.
        self._revision = 0
        #: Oldest readable revision, as far as known.
        self.compact_revision = 0

    def note(self, compact_revision: int) -> None:
        """Record that history below ``compact_revision`` is compacted."""
        self.compact_revision = max(self.compact_revision, compact_revision)

    def note_put(self, key: bytes, value: bytes) -> None:
        """Record a write of ``compact_rev_key`` by any server."""
        if key == COMPACT_REV_KEY and value.isdigit():
            self.note(int(value))

    async def read(self) -> None:
        """Read the compact revision stored by the servers."""
        for stored in (await self._client.range(COMPACT_REV_KEY)).kvs:
            self.note_put(COMPACT_REV_KEY, stored.value)

    async def search(self) -> None:
        """Determine the compact revision by bisection, for compactions not by API servers: no request returns it."""
        low, high = max(1, self.compact_revision), (await self._client.revision()).revision
        while low < high:
            middle = (low + high) // 2
            try:
                await self._client.range(COMPACT_REV_KEY, revision=middle)
                high = middle
            except RpcError as error:
                if text_of(error) != COMPACTED:
                    raise
                low = middle + 1
        self.note(high)

    async def run(self) -> None:
        """Compact until cancelled."""
        while True:
            await self._clock.sleep(self._interval_seconds)
            try:
                await self.turn()
            except (StoreError, RpcError) as error:
                _log.warning("cannot compact etcd: %s", error)

    async def turn(self) -> bool:
        """Attempt one compaction; return True if this server won the race."""
        revision = self._revision
        answer = await self._client.txn(
            messages.txn_request(
                [messages.compare_version(COMPACT_REV_KEY, self._version)],
                [messages.put_op(COMPACT_REV_KEY, b"%d" % revision)],
                [messages.range_op(COMPACT_REV_KEY)],
            )
        )
        self._revision = answer.header.revision
        if not answer.succeeded:
            (stored,) = answer.ranges[0].kvs or (None,)
            self._version = 0 if stored is None else stored.version
            if stored is not None:
                self.note_put(COMPACT_REV_KEY, stored.value)
            return False
        self._version += 1
        if revision:  # the first turn only starts the interval
            await self.compact(revision)
        return True

    async def compact(self, revision: int) -> None:
        """Compact history below ``revision``, unless it is compacted already."""
        try:
            await self._client.compact(revision)
        except RpcError as error:
            if text_of(error) != COMPACTED:
                raise
        self.note(revision)
