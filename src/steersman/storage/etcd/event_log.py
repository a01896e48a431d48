"""Event log: one watch over all keys of etcd, which serves every watch of this process.

Every revision of etcd changes at least one key, so a watch over all keys receives each revision. ``revision`` is therefore
a position in one totally ordered log: when it is ``n``, every sink has received its events up to ``n``. Nothing depends
on progress notifications, whose order is wrong in etcd before 3.4.25 and 3.5.8
(https://github.com/etcd-io/etcd/issues/15220).

Promises:

* The log survives the loss of members: it resumes at the next revision on another one.
* When it cannot resume without a gap (history compacted, etcd restored to an older state), every watch ends with
  ``Compacted`` and the log restarts at the newest revision. A stream begins with the last revision that was delivered: if
  its events differ, etcd was restored, even if its revision has passed that of the log since.
* A stream that lags behind etcd (a paused or partitioned member) is detected by a waiter for a revision, and replaced.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/watcher.go.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from msgspec.structs import astuple, replace

from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.grpc.errors import RpcError
from steersman.storage.etcd import messages
from steersman.storage.etcd.errors import text_of
from steersman.storage.revision_waiters import RevisionWaiters
from steersman.storage.store import Compacted, Event, StoreError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock
    from steersman.grpc.calls import StreamCall
    from steersman.storage.dispatch import Dispatcher
    from steersman.storage.etcd.client import Client
    from steersman.storage.etcd.keyspace import KeySpace
    from steersman.storage.etcd.members import Member
    from steersman.storage.etcd.messages import Header, WatchEvent, WatchResponse

_log = logging.getLogger(__name__)

#: Time after which a stream that has not delivered a known revision is replaced.
STALL_SECONDS: Final = 1.0
#: Timeout of a caller for the log to reach a revision.
REACH_SECONDS: Final = 5.0
#: Timeout for a member to accept a watch.
_CREATE_SECONDS: Final = 2.0
_RECONNECT: Final = BackoffPolicy(initial_seconds=0.05, max_seconds=1.0)


class EventLog:
    """Event log; see the module for its promises. ``run`` is the task that follows etcd. Confined to the event loop."""

    def __init__(
        self,
        client: Client,
        keys: KeySpace,
        dispatcher: Dispatcher,
        *,
        clock: Clock,
        on_foreign: Callable[[bytes, bytes], None],
    ) -> None:
        """``on_foreign`` receives key and value of every put to keys outside the store's."""
        self._client = client
        self._keys = keys
        self._dispatcher = dispatcher
        self._clock = clock
        self._on_foreign = on_foreign
        #: Events up to this revision have been delivered to all sinks.
        self.revision = 0
        #: Number of losses of continuity.
        self.restarts = 0
        self._cluster_id = 0
        #: Events of ``revision``, to be compared with those of the next stream; empty after a start.
        self._newest: list[WatchEvent] = []
        #: True if the running stream continues the delivered events.
        self._is_verified = False
        #: The running stream, to be cancelled when it stalls; None between streams.
        self._stream: StreamCall | None = None
        self._member: Member | None = None
        #: Monotonic time of the last message of the stream, or of its start.
        self._last_message_at = 0.0
        self._waiters = RevisionWaiters(clock)

    def start_at(self, header: Header) -> None:
        """Set the position from which ``run`` follows."""
        self.revision, self._cluster_id, self._newest = header.revision, header.cluster_id, []

    async def run(self) -> None:
        """Follow etcd until cancelled."""
        backoff = Backoff(_RECONNECT)
        while True:
            before = self.revision
            try:
                await self._follow()
            except StoreError as error:
                _log.warning("the watch of etcd ended: %s", error)
            if self.revision > before:
                backoff.reset()
            await self._clock.sleep(backoff.next_seconds())

    # -- following -----------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Follow one stream until it ends. Raises ``Unavailable``."""
        member = self._client.members.current
        request = messages.watch_request(start_revision=self.revision if self._newest else self.revision + 1)
        try:
            stream = await self._client.open_watch(member, request)
        except RpcError as error:
            self._client.members.failed(member)
            raise Unavailable(text_of(error)) from error
        restarts = self.restarts
        guard = self._clock.timer(_CREATE_SECONDS, stream.cancel)
        try:
            self._stream, self._member, self._last_message_at = stream, member, self._clock.monotonic()
            while (message := await stream.read()) is not None:
                response = messages.read_watch(message)
                if response.is_canceled:
                    await self._restart_after(response)
                    return
                if response.is_created:
                    guard.cancel()
                    await self._check_history()
                if self.restarts != restarts:
                    raise Unavailable("etcd was restored")
                if response.events:
                    self._deliver(self._verified(response))
            self._client.members.failed(member)
            raise Unavailable("the stream has ended")
        except RpcError as error:
            self._client.members.failed(member)
            raise Unavailable(text_of(error)) from error
        finally:
            guard.cancel()
            stream.cancel()
            self._stream, self._is_verified = None, False

    async def _check_history(self) -> None:
        position = self.position
        self.compare(await self._client.revision(), position)
        if not self._newest:
            self._set_verified()

    def _verified(self, response: WatchResponse) -> WatchResponse:
        """Return a response without the events that were delivered before. Raises ``Unavailable`` if they differ."""
        if self._is_verified:
            return response
        count = len(self._newest)
        if not all(map(_is_same, response.events, self._newest)) or len(response.events) < count:
            self._restore(response.header)
            raise Unavailable("etcd was restored")
        self._set_verified()
        return replace(response, events=response.events[count:])

    def _set_verified(self) -> None:
        self._is_verified = True
        self._waiters.resolve(self.revision)

    @property
    def position(self) -> tuple[int, int]:
        """``restarts`` and ``revision``."""
        return self.restarts, self.revision

    def compare(self, header: Header, position: tuple[int, int]) -> None:
        """Restart the log if a linearizable response shows that etcd was restored: it has another cluster ID, or an older
        revision than ``position``, that of this log at the request.
        """
        restarts, revision = position
        if restarts == self.restarts and (header.revision < revision or header.cluster_id != self._cluster_id):
            self._restore(header)

    def _restore(self, header: Header) -> None:
        _log.error(
            "etcd was restored: it is at revision %d, this server at %d of another history; all watches are restarted",
            header.revision,
            self.revision,
        )
        self._restart(header, Compacted(self.revision, header.revision))

    async def _restart_after(self, response: WatchResponse) -> None:
        """Restart the log when its position was compacted; other cancellations are retried."""
        if not response.compact_revision:
            raise Unavailable(response.cancel_reason or "etcd cancelled the watch")
        error = Compacted(self.revision, response.compact_revision)
        self._restart(await self._client.revision(), error)

    def _restart(self, header: Header, error: StoreError) -> None:
        self.restarts += 1
        if self._stream is not None:
            self._stream.cancel()
        self.start_at(header)
        self._dispatcher.close(error)

    def _deliver(self, response: WatchResponse) -> None:
        if not response.events:
            return
        revision, events = events_of(response, self._keys, self._on_foreign)
        self._newest = [event for event in response.events if event.kv.mod_revision == revision]
        self.revision, self._last_message_at = revision, self._clock.monotonic()
        if events:
            self._dispatcher.deliver(events, revision=revision)
        self._waiters.resolve(revision)

    # -- waiting -------------------------------------------------------------------------------------------------------

    async def reached(self, revision: int, *, seconds: float = REACH_SECONDS) -> bool:
        """Wait until the log follows etcd and is at ``revision``, at most ``seconds``; return whether it is."""
        if revision <= self.revision and self._is_verified:
            return True
        is_woken = await self._waiters.wait(revision, seconds=min(seconds, STALL_SECONDS))
        if not is_woken and seconds > STALL_SECONDS:
            self._replace_stream()
            await self._waiters.wait(revision, seconds=seconds - STALL_SECONDS)
        return revision <= self.revision and self._is_verified

    def _replace_stream(self) -> None:
        is_silent = self._clock.monotonic() - self._last_message_at >= STALL_SECONDS
        if is_silent and self._stream is not None and self._member is not None:
            _log.warning("the watch of %s stands still; another member is asked", self._member.url)
            self._client.members.failed(self._member)
            self._stream.cancel()

    def end_waits(self) -> None:
        """Wake all waiters, as at shutdown."""
        self._waiters.resolve_all()


def _is_same(event: WatchEvent, other: WatchEvent) -> bool:
    # Field by field, as compiled code compares structs by identity. The previous state may have been compacted meanwhile.
    return event.is_delete == other.is_delete and astuple(event.kv) == astuple(other.kv)


def events_of(
    response: WatchResponse, keys: KeySpace, on_foreign: Callable[[bytes, bytes], None] | None = None
) -> tuple[int, list[Event]]:
    """Return the revision of the last event, and the events of the store's keys."""
    events = []
    revision = 0
    for event in response.events:
        kv = event.kv
        revision = kv.mod_revision
        key = keys.decode(kv.key)
        if key is None:
            if on_foreign is not None and not event.is_delete:
                on_foreign(kv.key, kv.value)
        elif event.is_delete:
            events.append(Event(key, None, event.previous_create_revision, revision))
        else:
            events.append(Event(key, kv.value, kv.create_revision, revision))
    return revision, events
