"""Reflector: lists and watches one resource, and resumes after every failure, until cancelled.

Upstream: ``k8s.io/client-go/tools/cache.Reflector``, with three differences: repeated events are detected by version; a
watch resumes just before the last change (see ``position``); a watch without events or bookmarks for too long is closed
and resumed, as connections can die silently.
"""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from steersman.apimachinery.errors import CAUSE_RESOURCE_VERSION_TOO_LARGE, has_cause
from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.timeouts import Timeout
from steersman.client.client import PAGE_SIZE
from steersman.client.decoding import ADDED, BOOKMARK, DELETED, MODIFIED
from steersman.client.errors import ApiError, ClientError, Expired, Gone, RequestFailed, UnexpectedResponse
from steersman.client.objects import key_of, resource_version_of
from steersman.client.position import Position

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.client.decoding import WatchEvent
    from steersman.client.source import EventStream, Source

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

#: Status codes of servers that do not support streaming lists, or not for this resource.
_NO_STREAMING_LIST: Final = frozenset({400, 405, 406, 415, 422})
#: Attempts to resume from one version, without any event, before the reflector relists.
_RESUMES_MAX: Final = 10


#: A watch that was open for this long does not count as a failed attempt: servers close idle watches.
_LONG_SECONDS: Final = 10.0
_BACKOFF: Final = BackoffPolicy(0.8, 30.0, jitter=1.0)


class WatchSilent(ClientError):  # noqa: N818 — named by the condition, like its siblings
    """A watch received no event for longer than its bound."""


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Options of a reflector; defaults are client-go's where it has them."""

    #: Start with a streaming list (KEP-3157) if the server supports it.
    streaming_list: bool = True
    page_size: int = PAGE_SIZE
    #: Request bookmarks; a streaming list needs them.
    bookmarks: bool = True
    #: A watch without events for longer is closed and resumed; None: never. Servers send a bookmark about every minute.
    idle_seconds: float | None = 150.0
    #: The same bound during a streaming list; a regular list follows.
    initial_idle_seconds: float = 15.0
    #: Base of ``timeoutSeconds`` of a watch, which is chosen between this and twice this.
    watch_seconds: float = 300.0
    #: Delays between attempts from the second failure on; the first failure is retried at once.
    backoff: BackoffPolicy = _BACKOFF


class Sink(Protocol[T]):
    """Receiver of the objects. The reflector awaits each call, so a slow sink delays it."""

    def transform(self, obj: T) -> T:
        """Return the object to keep; called for each object at once, so that no list is held untransformed."""

    async def replace(self, objects: list[T]) -> None:
        """Replace all objects with a complete list."""

    async def change(self, kind: str, obj: T) -> None:
        """Apply an ``ADDED``, ``MODIFIED`` or ``DELETED`` event; it may repeat an earlier one."""

    def progressed(self) -> None:
        """Handle a new position; called after ``replace``, and after each batch of changes."""


class Reflector(Generic[T]):
    """Loop that keeps a sink in sync with a source. Run it once, as a task."""

    def __init__(
        self, source: Source[T], sink: Sink[T], *, clock: Clock, dice: Random, options: ReflectorOptions | None = None
    ) -> None:
        self._source = source
        self._sink = sink
        self._clock = clock
        self._dice = dice
        self._options = options or ReflectorOptions()
        self._use_streaming_list = self._options.streaming_list
        self._backoff = Backoff(self._options.backoff, dice=dice)
        #: Attempts since the last event or bookmark.
        self._attempts = 0
        #: Time since which a watch delivers changes; None without one.
        self._watching_since: float | None = None
        self.position: Final = Position()

    @property
    def watching_seconds(self) -> float:
        """Seconds for which the present watch has delivered changes; 0 without a watch."""
        return 0.0 if self._watching_since is None else self._clock.monotonic() - self._watching_since

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            wait, started = 0.0, self._clock.monotonic()
            try:
                await (self._watch() if self.position.can_resume else self._synchronize())
            except ClientError as error:
                wait = self._handle_error(error)
            except Exception:  # noqa: BLE001 — the loop must survive; logged
                # An error of a transform or a listener: it must receive the objects again.
                _log.exception("%s: cannot process the events, relisting", self._source.name)
                self.position.forget()
                wait = self._backoff.next_seconds()
            if self._clock.monotonic() - started >= _LONG_SECONDS:
                self._reset_backoff()
            self._attempts += 1
            if self._attempts > 1:
                wait = max(wait, self._backoff.next_seconds())
            if self._attempts >= _RESUMES_MAX and self.position.can_resume:
                _log.warning("%s: no events in %d attempts, relisting", self._source.name, self._attempts)
                self.position.forget()
            await self._clock.sleep(wait)

    def _handle_error(self, error: ClientError) -> float:
        """Update the state after an error; return the minimal delay in seconds."""
        if isinstance(error, Expired | Gone) or has_cause(error, CAUSE_RESOURCE_VERSION_TOO_LARGE):
            # A too large version: the server has older state, e.g. after a restore from a backup.
            _log.info("%s: resource version %s is too old, relisting", self._source.name, self.position.newest)
            self.position.forget()
        elif isinstance(error, UnexpectedResponse):
            # The event is lost, and resuming from the same version would most likely fail again.
            _log.warning("%s: %s", self._source.name, error)
            self.position.forget()
        elif isinstance(error, RequestFailed | InitialEventsEndedEarly):
            _log.info("%s: %s", self._source.name, error)  # broken connections are normal
        else:
            _log.warning("%s: %s", self._source.name, error)
        return float((error.retry_after_seconds or 0) if isinstance(error, ApiError) else 0)

    async def _synchronize(self) -> None:
        """List (streaming if supported), then watch."""
        if self._use_streaming_list:
            try:
                await self._watch(with_list=True)
            except (ApiError, WatchSilent) as error:
                unsupported = isinstance(error, WatchSilent) or error.code in _NO_STREAMING_LIST
                if self.position.can_resume or not unsupported:
                    raise
                _log.info("%s: no streaming list, listing instead: %s", self._source.name, error)
                self._use_streaming_list = False
            else:
                return
        objects, version = await self._list()
        await self._replace(objects, version)
        await self._watch()

    async def _list(self) -> tuple[list[T], str]:
        """Return all objects, listed in pages; listed at once if a continue token expires."""
        objects: list[T] = []
        token = ""
        while True:
            try:
                page = await self._source.list(limit=self._options.page_size, continue_token=token)
            except Expired:
                if not token:
                    raise
                page = await self._source.list()
                objects = []
            objects.extend(map(self._sink.transform, page))
            token = page.continue_token
            if not token:
                return objects, page.resource_version

    async def _watch(self, *, with_list: bool = False) -> None:
        async with self._source.watch(
            resource_version="" if with_list else self.position.complete,
            timeout_seconds=int(self._options.watch_seconds * (1 + self._dice.random())),
            send_initial_events=True if with_list else None,
        ) as stream:
            batches = self._bounded(stream)
            async with aclosing(batches):
                if with_list:
                    await self._read_initial(batches)
                self._watching_since = self._clock.monotonic()
                try:
                    async for batch in batches:
                        await self._deliver(batch)
                finally:
                    self._watching_since = None

    async def _bounded(self, stream: EventStream) -> AsyncGenerator[list[WatchEvent[Any]], None]:
        """Yield batches of the stream. Raises WatchSilent."""
        async with aclosing(stream.batches()) as batches:
            while True:
                can_resume = self.position.can_resume
                bound = self._options.idle_seconds if can_resume else self._options.initial_idle_seconds
                try:
                    async with Timeout(bound, clock=self._clock):
                        batch = await anext(batches, None)
                except TimeoutError:
                    raise WatchSilent(f"the watch was silent for {bound:g} seconds") from None
                if batch is None:
                    return
                yield batch

    async def _read_initial(self, batches: AsyncIterator[list[WatchEvent[Any]]]) -> None:
        """Read the initial events of a streaming list. Raises InitialEventsEndedEarly if the stream ends first."""
        objects: dict[str, T] = {}
        async for batch in batches:
            for at, event in enumerate(batch):
                match event.type:
                    case "BOOKMARK" if event.object.ends_initial_events:
                        await self._replace(list(objects.values()), event.object.metadata.resourceVersion)
                        await self._deliver(batch[at + 1 :])
                        return
                    case "ADDED" | "MODIFIED":
                        objects[key_of(event.object)] = self._sink.transform(event.object)
                    case "DELETED":
                        objects.pop(key_of(event.object), None)
        raise InitialEventsEndedEarly("the stream ended before all present objects had come")

    async def _replace(self, objects: list[T], version: str) -> None:
        await self._sink.replace(objects)
        self.position.listed(version)
        self._sink.progressed()

    async def _deliver(self, batch: list[WatchEvent[Any]]) -> None:
        """Deliver the new events of a batch."""
        position = self.position
        for event in batch:
            if event.type == BOOKMARK:
                position.reached_bookmark(event.object.metadata.resourceVersion)
            elif event.type in (ADDED, MODIFIED, DELETED):
                version = resource_version_of(event.object)
                if position.is_repeated(version):
                    continue
                await self._sink.change(event.type, self._sink.transform(event.object))
                position.reached_event(version)
            else:
                _log.warning("%s: a watch event of unknown type %r", self._source.name, event.type)
        if batch:
            self._reset_backoff()
            self._sink.progressed()

    def _reset_backoff(self) -> None:
        self._attempts = 0
        self._backoff.reset()


class InitialEventsEndedEarly(ClientError):  # noqa: N818 — named by the condition, like its siblings
    """A streaming list ended before its final bookmark."""
