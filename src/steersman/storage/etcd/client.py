"""Requests to an etcd cluster, with their time limits, retries and metrics.

Reads are repeated on other members until ``READ_SECONDS`` are over. A write is repeated only when it was not sent; after any
other failure it may or may not be applied, which is reported as ``Unavailable``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.grpc.errors import RpcError
from steersman.storage.etcd import messages
from steersman.storage.etcd.errors import is_passing, text_of
from steersman.storage.store import Unavailable

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.grpc.calls import StreamCall
    from steersman.storage.etcd.members import Member, Members
    from steersman.storage.etcd.messages import LeaseResponse, MemberStatus, RangeResponse, TxnResponse

#: Timeout of one attempt of a read; a member that does not respond in time is skipped.
ATTEMPT_SECONDS: Final = 2.5
#: Timeout of a read including retries.
READ_SECONDS: Final = 10.0
#: Timeout of a write: longer than etcd's own (5 s and two election timeouts).
WRITE_SECONDS: Final = 8.0
_PAUSE_SECONDS: Final = 0.1

_RANGE: Final = "/etcdserverpb.KV/Range"
_TXN: Final = "/etcdserverpb.KV/Txn"
_COMPACT: Final = "/etcdserverpb.KV/Compact"
_WATCH: Final = "/etcdserverpb.Watch/Watch"
_LEASE_GRANT: Final = "/etcdserverpb.Lease/LeaseGrant"
_LEASE_REVOKE: Final = "/etcdserverpb.Lease/LeaseRevoke"
_LEASE_KEEP_ALIVE: Final = "/etcdserverpb.Lease/LeaseKeepAlive"
_ALARM: Final = "/etcdserverpb.Maintenance/Alarm"
_STATUS: Final = "/etcdserverpb.Maintenance/Status"


class Client:
    """Typed requests. All methods raise ``StoreError``, or ``RpcError`` for errors about revisions."""

    def __init__(self, members: Members, *, clock: Clock) -> None:
        self.members = members
        self._clock = clock

    # -- reads ---------------------------------------------------------------------------------------------------------

    async def range(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        limit: int = 0,
        revision: int = 0,
        keys_only: bool = False,
        count_only: bool = False,
    ) -> RangeResponse:
        """Read keys, linearizable."""
        request = messages.range_request(
            key, range_end, limit=limit, revision=revision, keys_only=keys_only, count_only=count_only
        )
        return messages.read_range(await self._read(_RANGE, request))

    async def revision(self) -> messages.Header:
        """Return a header with the newest revision, linearizable."""
        return (await self.range(b"\0", count_only=True)).header

    async def status(self) -> MemberStatus:
        """Return the status of the current member."""
        return messages.read_status(await self._read(_STATUS, b""))

    async def alarms(self) -> list[tuple[int, str]]:
        """Return member id and name of each raised alarm."""
        return messages.read_alarms(await self._read(_ALARM, b""))

    async def keep_alive(self, lease_id: int) -> LeaseResponse:
        """Renew a lease. Idempotent."""
        request, deadline = messages.lease_request(lease_id), self._clock.monotonic() + READ_SECONDS
        while True:
            member = self.members.current
            try:
                answer = await self._first_answer(member, _LEASE_KEEP_ALIVE, request)
                if answer is not None:
                    return messages.read_lease(answer)
                refusal = Unavailable("etcd ended the stream of a lease, or sent nothing")
            except RpcError as error:
                if not is_passing(error):
                    raise
                refusal = Unavailable(text_of(error))
            self.members.failed(member)
            if self._clock.monotonic() >= deadline:
                raise refusal
            await self._clock.sleep(_PAUSE_SECONDS)

    async def _first_answer(self, member: Member, path: str, request: bytes) -> bytes | None:
        """Return the first message of a stream; None if none came in time."""
        stream = await member.channel.open_stream(path, request, timeout_seconds=ATTEMPT_SECONDS)
        guard = self._clock.timer(ATTEMPT_SECONDS, stream.cancel)
        try:
            return await stream.read()
        finally:
            guard.cancel()
            stream.cancel()

    async def _read(self, path: str, request: bytes) -> bytes:
        deadline = self._clock.monotonic() + READ_SECONDS
        attempts = 0
        while True:
            member = self.members.current
            try:
                return await member.channel.unary(path, request, timeout_seconds=ATTEMPT_SECONDS)
            except RpcError as error:
                if not is_passing(error):
                    raise
                self.members.failed(member)
                attempts += 1
                if self._clock.monotonic() >= deadline:
                    raise Unavailable(f"etcd does not answer: {text_of(error)}") from error
            if attempts % len(self.members.all) == 0:
                await self._clock.sleep(_PAUSE_SECONDS)

    # -- writes --------------------------------------------------------------------------------------------------------

    async def txn(self, request: bytes) -> TxnResponse:
        """Run a transaction."""
        return messages.read_txn(await self._write(_TXN, request))

    async def compact(self, revision: int) -> None:
        """Compact the history below ``revision``."""
        await self._write(_COMPACT, messages.compaction_request(revision))

    async def grant_lease(self, ttl_seconds: int, lease_id: int) -> LeaseResponse:
        return messages.read_lease(await self._write(_LEASE_GRANT, messages.lease_grant_request(ttl_seconds, lease_id)))

    async def revoke_lease(self, lease_id: int) -> LeaseResponse:
        return messages.read_lease(await self._write(_LEASE_REVOKE, messages.lease_request(lease_id)))

    async def _write(self, path: str, request: bytes) -> bytes:
        attempts = 0
        while True:
            member = self.members.current
            try:
                return await member.channel.unary(path, request, timeout_seconds=WRITE_SECONDS)
            except RpcError as error:
                if is_passing(error):
                    self.members.failed(member)
                attempts += 1
                if not error.is_unsent or attempts >= 2 * len(self.members.all):
                    raise
            if attempts % len(self.members.all) == 0:
                await self._clock.sleep(_PAUSE_SECONDS)

    # -- watches -------------------------------------------------------------------------------------------------------

    async def open_watch(self, member: Member, request: bytes) -> StreamCall:
        """Open a watch stream to ``member``; the caller cancels it. Raises ``RpcError``."""
        # as upstream's ``clientv3.WithRequireLeader``: a member without a leader ends its watches
        leader = (("hasleader", "true"),)
        return await member.channel.open_stream(_WATCH, request, timeout_seconds=ATTEMPT_SECONDS, metadata=leader)

    async def close(self) -> None:
        await self.members.close()
