"""Follows a resource for ever: list, watch, and whatever it takes to go on after the watch has ended.

The rules are client-go's ``Reflector``'s, with three of our own: changes that come twice are told by their version; a watch
goes on from just before the last change (see ``position``); a watch that has said nothing for too long is given up, as
connections die without a word.
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
from steersman.client.errors import ApiError, ClientError, Expired, Gone, RequestFailed, UnreadableAnswer
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

#: What a server says that does not know streaming lists, or not for this resource.
_NO_STREAMING_LIST: Final = frozenset({400, 405, 406, 415, 422})
#: Tries to go on at one place, without one event, before the reflector lists anew.
_RESUMES_MAX: Final = 10


#: A watch that was open for so long was no failure, whatever came of it: quiet ones are ended by the server in the end.
_LONG_SECONDS: Final = 10.0
_BACKOFF: Final = BackoffPolicy(0.8, 30.0, jitter=1.0)


class WatchSilent(ClientError):  # noqa: N818 — says what happened, as its siblings do
    """A watch said nothing for longer than its bound."""


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """How a reflector goes about it; the defaults are client-go's where it has them."""

    #: Begin with a streaming list (KEP-3157) where the server knows it.
    streaming_list: bool = True
    page_size: int = PAGE_SIZE
    #: A watch that is silent for longer is cut and resumed. Servers send a bookmark about every minute.
    idle_seconds: float = 150.0
    #: The same while the objects of a streaming list come; then a plain list is tried.
    initial_idle_seconds: float = 15.0
    #: Servers are asked to end a watch after this, up to twice as long.
    watch_seconds: float = 300.0
    #: The first failure is met at once, the next ones so.
    backoff: BackoffPolicy = _BACKOFF


class Sink(Protocol[T]):
    """Where the objects go. What takes its time holds the reflector back."""

    def kept(self, obj: T) -> T:
        """What is to be kept of an object; called at once, so that a long list is never there as it came."""

    async def replace(self, objects: list[T]) -> None:
        """All that there are; whatever else was known is gone."""

    async def change(self, kind: str, obj: T) -> None:
        """``ADDED``, ``MODIFIED`` or ``DELETED``; may be what was told before."""

    def progressed(self) -> None:
        """The position moved; called after ``replace``, and after each batch of changes."""


class Reflector(Generic[T]):
    """Keeps a sink as the source is. Run it once, as a task."""

    def __init__(
        self, source: Source[T], sink: Sink[T], *, clock: Clock, dice: Random, options: ReflectorOptions | None = None
    ) -> None:
        self._source = source
        self._sink = sink
        self._clock = clock
        self._dice = dice
        self._options = options or ReflectorOptions()
        self._streams_lists = self._options.streaming_list
        self._backoff = Backoff(self._options.backoff, dice=dice)
        #: Tries since the last event or bookmark.
        self._fruitless = 0
        self.position: Final = Position()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            wait, started = 0.0, self._clock.monotonic()
            try:
                await (self._follow() if self.position.known else self._synchronize())
            except ClientError as error:
                wait = self._failed(error)
            except Exception:  # noqa: BLE001 — it must go on; logged
                # A fault of a transform or a listener: what it did not take in must come again.
                _log.exception("%s: what came could not be taken in, listing anew", self._source.name)
                self.position.forget()
                wait = self._backoff.next_seconds()
            if self._clock.monotonic() - started >= _LONG_SECONDS:
                self._fruitful()
            self._fruitless += 1
            if self._fruitless > 1:
                wait = max(wait, self._backoff.next_seconds())
            if self._fruitless >= _RESUMES_MAX and self.position.known:
                _log.warning("%s: nothing came in %d tries, listing anew", self._source.name, self._fruitless)
                self.position.forget()
            await self._clock.sleep(wait)

    def _failed(self, error: ClientError) -> float:
        """Learn from a failure; seconds to wait at least."""
        if isinstance(error, Expired | Gone) or has_cause(error, CAUSE_RESOURCE_VERSION_TOO_LARGE):
            # The latter: the server went back in time, as after a restore from a backup.
            _log.info("%s: version %s is no longer kept, listing anew", self._source.name, self.position.newest)
            self.position.forget()
        elif isinstance(error, UnreadableAnswer):
            # What was in it is lost, and going on at the same place would most likely meet it again.
            _log.warning("%s: %s", self._source.name, error)
            self.position.forget()
        elif isinstance(error, RequestFailed | InitialEventsEndedEarly):
            _log.info("%s: %s", self._source.name, error)  # connections do break
        else:
            _log.warning("%s: %s", self._source.name, error)
        return float((error.retry_after_seconds or 0) if isinstance(error, ApiError) else 0)

    async def _synchronize(self) -> None:
        """From nothing to a watch."""
        if self._streams_lists:
            try:
                await self._follow(with_list=True)
            except (ApiError, WatchSilent) as error:
                unknown = isinstance(error, WatchSilent) or error.code in _NO_STREAMING_LIST
                if self.position.known or not unknown:
                    raise
                _log.info("%s: no streaming list, listing instead: %s", self._source.name, error)
                self._streams_lists = False
            else:
                return
        objects, version = await self._list()
        await self._take_all(objects, version)
        await self._follow()

    async def _list(self) -> tuple[list[T], str]:
        """In pages; in one piece if the list expires between two."""
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
            objects.extend(map(self._sink.kept, page))
            token = page.continue_token
            if not token:
                return objects, page.resource_version

    async def _follow(self, *, with_list: bool = False) -> None:
        async with self._source.watch(
            resource_version="" if with_list else self.position.complete,
            timeout_seconds=int(self._options.watch_seconds * (1 + self._dice.random())),
            send_initial_events=True if with_list else None,
        ) as stream:
            batches = self._bounded(stream)
            async with aclosing(batches):
                if with_list:
                    await self._read_initial(batches)
                async for batch in batches:
                    await self._deliver(batch)

    async def _bounded(self, stream: EventStream) -> AsyncGenerator[list[WatchEvent[Any]], None]:
        """Batches of the stream. Raises WatchSilent."""
        async with aclosing(stream.batches()) as batches:
            while True:
                known = self.position.known
                bound = self._options.idle_seconds if known else self._options.initial_idle_seconds
                try:
                    async with Timeout(bound, clock=self._clock):
                        batch = await anext(batches, None)
                except TimeoutError:
                    raise WatchSilent(f"the watch was silent for {bound:g} seconds") from None
                if batch is None:
                    return
                yield batch

    async def _read_initial(self, batches: AsyncIterator[list[WatchEvent[Any]]]) -> None:
        """The objects that a streaming list begins with. Raises WatchSilent when the stream ends before they do."""
        objects: dict[str, T] = {}
        async for batch in batches:
            for at, event in enumerate(batch):
                match event.type:
                    case "BOOKMARK" if event.object.ends_initial_events:
                        await self._take_all(list(objects.values()), event.object.metadata.resourceVersion)
                        await self._deliver(batch[at + 1 :])
                        return
                    case "ADDED" | "MODIFIED":
                        objects[key_of(event.object)] = self._sink.kept(event.object)
                    case "DELETED":
                        objects.pop(key_of(event.object), None)
        raise InitialEventsEndedEarly("the stream ended before all present objects had come")

    async def _take_all(self, objects: list[T], version: str) -> None:
        await self._sink.replace(objects)
        self.position.listed(version)
        self._sink.progressed()

    async def _deliver(self, batch: list[WatchEvent[Any]]) -> None:
        """Hand on what is new."""
        position = self.position
        for event in batch:
            if event.type == BOOKMARK:
                position.reached_bookmark(event.object.metadata.resourceVersion)
            elif event.type in (ADDED, MODIFIED, DELETED):
                version = resource_version_of(event.object)
                if position.is_repeated(version):
                    continue
                await self._sink.change(event.type, self._sink.kept(event.object))
                position.reached_event(version)
            else:
                _log.warning("%s: a watch event of unknown type %r", self._source.name, event.type)
        if batch:
            self._fruitful()
            self._sink.progressed()

    def _fruitful(self) -> None:
        self._fruitless = 0
        self._backoff.reset()


class InitialEventsEndedEarly(ClientError):  # noqa: N818 — says what happened, as its siblings do
    """A streaming list broke off."""
