"""Informers of the metadata of every served resource, added and removed as discovery changes.

For controllers of objects of any kind: garbage collection, namespaces, quota. A resource with an informer of whole objects
needs no second watch; the others have informers of metadata only. Discovery is read again when a
CustomResourceDefinition or APIService changes, and rarely by polling, for aggregated servers whose resources change.
Upstream: ``k8s.io/controller-manager/pkg/informerfactory``.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for
from steersman.client import tree
from steersman.client.errors import ClientError
from steersman.controllers.shared.object_part import object_part
from steersman.controllers.shared.served import ServedResources, discover

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from steersman.asynckit.clock import Clock
    from steersman.client import Client, ResourceType
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.client.informer_factory import InformerFactory
    from steersman.client.listeners import Callback

    Listener = Callable[[ResourceType[Any], Change[Any]], None]

_log: Final = logging.getLogger(__name__)

#: Definition events are batched for this time.
SETTLE_SECONDS: Final = 0.1
#: Delay between the condition of a definition and its resource being served.
AGAIN_SECONDS: Final = 1.0
#: Discovery is read again after this time without a change event.
REFRESH_SECONDS: Final = 300.0
RETRY_SECONDS: Final = 5.0
#: A resource that cannot be listed must not delay all others.
SYNC_TIMEOUT_SECONDS: Final = 30.0

_DEFINITIONS: Final = (
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
)
#: Events are numerous, short-lived, and have no owners or dependents.
_IGNORED: Final = frozenset({"events", "events.events.k8s.io"})
#: Instances by identity of the factory, which the watch keeps alive.
_shared: Final[WeakValueDictionary[int, MetadataWatch]] = WeakValueDictionary()


class MetadataWatch:
    """Metadata watch of all controllers of an informer factory (``shared``). Active while any caller is within ``running``."""

    def __init__(self, client: Client, informers: InformerFactory, *, clock: Clock) -> None:
        self._client = client
        self._factory = informers
        self._clock = clock
        self._users = 0
        self._supervisor: Supervisor | None = None
        self._changed = asyncio.Event()
        self._first = asyncio.Event()
        self._listeners: list[Listener] = []
        self._synced_listeners: list[Callable[[str], None]] = []
        #: Tasks that wait for the initial list, by group resource.
        self._awaiting: dict[str, asyncio.Task[None]] = {}
        #: By group resource.
        self._informers: dict[str, Informer[Any]] = {}
        #: Callbacks of the listeners, by group resource.
        self._callbacks: dict[str, list[Callback[Any]]] = {}
        self._watched: dict[str, ResourceType[Any]] = {}
        self.served = ServedResources({}, {}, {})
        for api_version, kind in _DEFINITIONS:
            informer = informers.informer(object_part(tree(api_version, kind)))
            informer.add_callback(lambda _: self._changed.set())

    @property
    def informers(self) -> dict[str, Informer[Any]]:
        """Return the informers by group resource, of whole objects or of ``ObjectPart``; read-only."""
        return self._informers

    @property
    def is_synced(self) -> bool:
        """Report whether all caches are synced."""
        return self._first.is_set() and all(informer.has_synced for informer in self._informers.values())

    def listen(self, listener: Listener) -> None:
        """Call ``listener`` for each change of each object, and now for all cached ones. It must not block."""
        self._listeners.append(listener)
        for name in self._informers:
            self._connect(name, listener)

    def listen_synced(self, listener: Callable[[str], None]) -> None:
        """Call ``listener`` for each resource whose informer syncs from now on. It must not block."""
        self._synced_listeners.append(listener)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch the served resources; on entering, wait until the caches are synced if possible."""
        self._users += 1
        if self._supervisor is None:
            self._supervisor = Supervisor("metadata watch")
            self._supervisor.start("discovery", self._follow())
        try:
            await self._first.wait()
            await self._wait_synced()
            yield
        finally:
            self._users -= 1
            if not self._users:
                await self._stop()

    async def refresh(self) -> ServedResources:
        """Query the server now. Raises ClientError."""
        self.served = served = await discover(self._client)
        monitored = {
            name: resource_type
            for name, resource_type in served.supporting("list", "watch", "delete").items()
            if name not in _IGNORED
        }
        broken = {version.rpartition("/")[0] for version in served.failed}
        for name, informer in list(self._informers.items()):
            info = self._watched[name].info
            is_removed = name not in monitored and info.group not in broken
            if is_removed or (name in monitored and monitored[name].info.api_version != info.api_version):
                _log.debug("%s is not served any more", name)
                await self._remove(name, informer)
        whole = self._factory.of_whole_objects()
        for name, resource_type in monitored.items():
            if name not in self._informers:
                self._add(name, resource_type, whole.get((resource_type.info.api_version, name)))
        self._first.set()
        return served

    def _add(self, name: str, resource_type: ResourceType[Any], whole: Informer[Any] | None) -> None:
        """Watch a resource, by its informer of whole objects if one exists."""
        informer = self._factory.informer(object_part(resource_type)) if whole is None else whole
        self._informers[name], self._watched[name], self._callbacks[name] = informer, resource_type, []
        for listener in self._listeners:
            self._connect(name, listener)
        informer.start()
        if self._synced_listeners and self._supervisor is not None:
            self._awaiting[name] = self._supervisor.start(f"first list of {name}", self._notify_synced(name, informer))

    async def _remove(self, name: str, informer: Informer[Any]) -> None:
        del self._informers[name], self._watched[name]
        for callback in self._callbacks.pop(name):
            informer.remove(callback)
        if name in self._awaiting:
            self._awaiting.pop(name).cancel()
        if informer not in self._factory.of_whole_objects().values():  # other controllers use it
            await self._factory.discard(informer)

    async def _notify_synced(self, name: str, informer: Informer[Any]) -> None:
        await informer.wait_synced()
        del self._awaiting[name]
        for listener in self._synced_listeners:
            listener(name)

    def _connect(self, name: str, listener: Listener) -> None:
        resource_type = self._watched[name]
        callback = self._informers[name].add_callback(lambda change: listener(resource_type, change))
        self._callbacks[name].append(callback)

    async def _follow(self) -> None:
        wait: float = 0.0
        again = True
        while True:
            if wait:
                try:
                    await wait_for(self._changed.wait(), wait, clock=self._clock)
                except TimeoutError:
                    again = True
            if self._changed.is_set():
                await self._clock.sleep(SETTLE_SECONDS)
                self._changed.clear()
                again = False
            try:
                await self.refresh()
            except ClientError as error:
                _log.warning("discovery failed: %s", error)
                wait = RETRY_SECONDS
            else:
                wait = REFRESH_SECONDS if again else AGAIN_SECONDS

    async def _wait_synced(self) -> None:
        deadline = self._clock.monotonic() + SYNC_TIMEOUT_SECONDS
        for informer in list(self._informers.values()):
            try:
                await informer.wait_synced(timeout_seconds=max(0.0, deadline - self._clock.monotonic()))
            except TimeoutError:
                _log.warning("%s cannot be listed, going on without them", informer.name)

    async def _stop(self) -> None:
        if self._supervisor is not None:
            await self._supervisor.close()
            self._supervisor = None


def shared(client: Client, informers: InformerFactory, *, clock: Clock) -> MetadataWatch:
    """Return the instance of this factory, created with the first caller's client; held by weak reference."""
    metadata_watch = _shared.get(id(informers))
    if metadata_watch is None:
        metadata_watch = _shared[id(informers)] = MetadataWatch(client, informers, clock=clock)
    return metadata_watch
