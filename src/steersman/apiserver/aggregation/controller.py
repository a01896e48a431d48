"""Aggregator: follows APIServices, checks their backends, and finds the backend of a request.

Level-triggered: after any change of an APIService all backends are compared with the stored objects. Each backend has a task
that checks it after every change of its spec, its Service or EndpointSlices, every 30 seconds, and after a failed request for
its discovery document with exponential backoff. Whether requests are forwarded depends on the stored condition
``Available``, so that all API servers on one store agree.

Upstream: ``kube-aggregator/pkg/apiserver/apiserver.go`` and ``…/pkg/controllers/status``.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.aggregation import availability, backend_discovery
from steersman.apiserver.aggregation.availability import LOCAL, PASSED, Availability, check_service, plan_status
from steersman.apiserver.aggregation.backend import Backend, BackendTLSError, spec_of
from steersman.apiserver.aggregation.backend_openapi import BackendOpenAPI
from steersman.apiserver.aggregation.metrics import AvailabilityMetrics
from steersman.apiserver.aggregation.proxy import AggregatorProxy
from steersman.apiserver.aggregation.service_resolver import ResolveError, ServiceResolver
from steersman.apiserver.discovery.catalog import Registration
from steersman.apiserver.proxying.connections import DialError
from steersman.apiserver.proxying.pool import PoolGroup
from steersman.asynckit.backoff import exponential
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.aggregation.backend import Identity
    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.proxying.connections import Connections
    from steersman.apiserver.proxying.kubelet import Location
    from steersman.asynckit.clock import Clock

    #: Updates ``/status`` of an APIService; returns the code of the answer.
    PutStatus = Callable[[Tree], Awaitable[int]]

_log = logging.getLogger(__name__)

RESYNC_SECONDS: Final = 30.0
PROBE_SECONDS: Final = 5.0
#: Addresses of a Service that are probed side by side; one answer is enough.
PROBES_MAX: Final = 5
#: Backends of one server; an APIService beyond them is not available.
BACKENDS_MAX: Final = 256
#: Backends that are checked side by side.
CHECKS_MAX: Final = 32
_BACKOFF_SECONDS: Final = 0.005
_BACKOFF_MAX_SECONDS: Final = 30.0
_DOCUMENT_BYTES_MAX: Final = 4 << 20
_TOO_MANY: Final = availability.failed_discovery(f"there are {BACKENDS_MAX} other APIServices with a Service")
_API_SERVICES: Final = "apiservices.apiregistration.k8s.io"


class _Bell:
    """Sets an event when a watch cache has changed."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def wake(self) -> None:
        self.event.set()


class _Watched:
    """A backend, its checks and the state that the last check saw."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.openapi = BackendOpenAPI()
        self.changed = asyncio.Event()
        self.task: asyncio.Task[Any] | None = None
        self.fingerprint: tuple[int, ...] = ()


class Aggregator:
    """Backends of one server. ``run`` is a task of the server; ``synced`` is set when the stored APIServices are known."""

    def __init__(
        self,
        registry: Registry,
        catalog: Catalog,
        *,
        connections: Connections,
        put_status: PutStatus,
        clock: Clock,
        dice: Random,
        rejects_redirects: bool = True,
    ) -> None:
        self._api_services: Final = registry.stored(_API_SERVICES)
        self._catalog: Final = catalog
        self._connections: Final = connections
        self._put_status: Final = put_status
        self._clock: Final = clock
        self._dice: Final = dice
        self._resolver: Final = ServiceResolver(registry)
        self._proxy: Final = AggregatorProxy(dice=dice, rejects_redirects=rejects_redirects)
        self._tasks: Final = Supervisor("aggregated API servers")
        self._pools: Final = PoolGroup()
        self._checks: Final = asyncio.Semaphore(CHECKS_MAX)
        #: Revisions of the APIServices seen, by name.
        self._synced_revisions: dict[str, int] = {}
        self._watched: dict[str, _Watched] = {}
        #: APIServices without a Service, by name.
        self._registered: dict[str, Registration] = {}
        self._backends: dict[tuple[str, str], Backend] = {}
        self._is_following_services = False
        #: Client certificate for backends; None: requests carry none.
        self.identity: Identity | None = None
        self.metrics: Final = AvailabilityMetrics()
        self.synced = asyncio.Event()

    @property
    def has_backends(self) -> bool:
        """Report whether there is an APIService with a Service."""
        return bool(self._backends)

    @property
    def backends(self) -> list[Backend]:
        """The backends, in no particular order."""
        return list(self._backends.values())

    def find(self, request: Request) -> Backend | None:
        """Return the backend that serves a request; None if this server does."""
        info = request.info
        if info.is_resource:
            return self._backends.get((info.group, info.version))
        return self.find_path(request.path)

    def find_path(self, path: str) -> Backend | None:
        """Return the backend that serves a path that names no resource."""
        match path.strip("/").split("/"):
            case ["apis", group, version, *_]:
                return self._backends.get((group, version))
            case ["api", version, *_]:
                return self._backends.get(("", version))
        return None

    def documents(self) -> list[tuple[Backend, BackendOpenAPI]]:
        """Return the OpenAPI documents of all backends."""
        return [(watched.backend, watched.openapi) for watched in self._watched.values()]

    async def serve(self, request: Request, backend: Backend) -> Response:
        """Forward a request."""
        return await self._proxy.serve(request, backend)

    async def run(self) -> None:
        """Follow APIServices until cancelled."""
        cache = self._api_services.cache
        await cache.ready()
        bell = _Bell()
        cache.wakeups.add_controller(bell)
        try:
            while True:
                bell.event.clear()
                self._sync()
                self.synced.set()
                await bell.event.wait()
        finally:
            cache.wakeups.remove_controller(bell)
            for watched in self._watched.values():
                watched.backend.close()
            await self._tasks.close()

    def _sync(self) -> None:
        entries = {entry.name: entry for entry in self._api_services.cache.snapshot()}
        for name in [name for name in self._synced_revisions if name not in entries]:
            del self._synced_revisions[name]
            self._forget(name)
        for name, entry in entries.items():
            if self._synced_revisions.get(name) != entry.revision:
                self._synced_revisions[name] = entry.revision
                self._update(name, entry.tree())
        self._publish()

    def _update(self, name: str, api_service: Tree) -> None:
        spec = spec_of(api_service)
        fields = api_service["spec"]
        group_priority, version_priority = fields.get("groupPriorityMinimum") or 0, fields.get("versionPriority") or 0
        watched = self._watched.get(name)
        if watched is not None and watched.backend.spec != spec:
            self._forget(name)
            watched = None
        self._registered.pop(name, None)
        if spec is None:
            group, version = fields.get("group") or "", fields.get("version") or ""
            self._registered[name] = Registration(group, version, group_priority, version_priority)
            self._start_write(name, api_service, LOCAL)
            return
        if watched is None and len(self._watched) >= BACKENDS_MAX:
            self._synced_revisions[name] = -1  # looked at again after any change
            self._start_write(name, api_service, _TOO_MANY)
            return
        if watched is None:
            backend = Backend(
                spec, self._resolver, self._connections, self.identity, clock=self._clock, pools=self._pools
            )
            watched = self._watched[name] = _Watched(backend)
            watched.task = self._tasks.start(f"checks of APIService {name}", self._check_forever(name, watched))
            self._follow_services()
        backend = watched.backend
        backend.group_priority, backend.version_priority = group_priority, version_priority
        backend.is_available = availability.is_available(api_service)

    def _start_write(self, name: str, api_service: Tree, outcome: Availability) -> None:
        """Start to set the condition of an APIService that is not checked, if it differs."""
        if plan_status(api_service, outcome, now="") is not None:
            self._tasks.start(f"status of APIService {name}", self._write(name, outcome))

    def renew_connections(self) -> None:
        """Use new connections to all backends, after the files of ``identity`` have changed."""
        for watched in self._watched.values():
            watched.backend.renew_connections()

    def _forget(self, name: str) -> None:
        watched = self._watched.pop(name, None)
        self._registered.pop(name, None)
        self.metrics.forget(name)
        if watched is not None:
            if watched.task is not None:
                watched.task.cancel()
            watched.backend.close()

    def _publish(self) -> None:
        """Update requests' backends and discovery."""
        backends = [watched.backend for watched in self._watched.values()]
        self._backends = {(backend.spec.group, backend.spec.version): backend for backend in backends}
        self._catalog.set_remote(backend.remote_version() for backend in backends)
        self._catalog.set_registered(self._registered.values())

    def _follow_services(self) -> None:
        if not self._is_following_services:
            self._is_following_services = True
            self._tasks.start("Services of APIServices", self._run_services())

    async def _run_services(self) -> None:
        """Check backends whose Service or EndpointSlices have changed."""
        await self._resolver.ready()
        bell = _Bell()
        caches = [self._resolver.services.cache, self._resolver.slices.cache]
        for cache in caches:
            cache.wakeups.add(cache.prefix, bell)
        try:
            while True:
                bell.event.clear()
                for watched in self._watched.values():
                    if watched.fingerprint != self._fingerprint(watched):
                        watched.changed.set()
                await bell.event.wait()
        finally:
            for cache in caches:
                cache.wakeups.remove(cache.prefix, bell)

    def _fingerprint(self, watched: _Watched) -> tuple[int, ...]:
        spec = watched.backend.spec
        return self._resolver.fingerprint(spec.namespace, spec.service)

    async def _check_forever(self, name: str, watched: _Watched) -> None:
        await self._resolver.ready()
        failures = 0
        while True:
            watched.changed.clear()
            watched.fingerprint = self._fingerprint(watched)
            async with self._checks:
                outcome = await self._check(watched)
            is_written = await self._write(name, outcome)
            if is_written and outcome.reason != "FailedDiscoveryCheck":
                failures, delay = 0, RESYNC_SECONDS
            else:
                delay = exponential(_BACKOFF_SECONDS, failures, _BACKOFF_MAX_SECONDS)
                failures += 1
            try:
                await wait_for(watched.changed.wait(), delay, clock=self._clock)
            except TimeoutError:
                continue

    async def _check(self, watched: _Watched) -> Availability:
        backend, spec = watched.backend, watched.backend.spec
        reference: Tree = {"namespace": spec.namespace, "name": spec.service, "port": spec.port}
        service = self._resolver.service(spec.namespace, spec.service)
        slices = self._resolver.endpoint_slices(spec.namespace, spec.service)
        outcome = check_service(reference, service, slices)
        if outcome is None:
            outcome = await self._probe(backend)
        await self._read_discovery(backend, is_reachable=outcome.is_available)
        if outcome.is_available:
            with suppress(ResolveError):
                location = self._dice.choice(backend.locations())
                await watched.openapi.read(backend, location, clock=self._clock)
        return outcome

    async def _probe(self, backend: Backend) -> Availability:
        try:
            locations = backend.locations()
        except ResolveError as error:
            return availability.failed_discovery(str(error))
        if len(locations) > PROBES_MAX:
            locations = self._dice.sample(locations, PROBES_MAX)
        probes = [
            asyncio.create_task(self._probe_one(backend, location), name="probe of a backend") for location in locations
        ]
        failure = ""
        try:
            for probe in asyncio.as_completed(probes):
                failure = await probe
                if not failure:
                    return PASSED
        finally:
            for probe in probes:
                probe.cancel()
        return availability.failed_discovery(failure)

    async def _probe_one(self, backend: Backend, location: Location) -> str:
        """Return why a location is no working backend; empty if it is one."""
        url = f"https://{location.authority}{backend.spec.path}"
        get = partial(backend.get, location, backend.spec.path, size_max=_DOCUMENT_BYTES_MAX)
        try:
            code = (await wait_for(get(), PROBE_SECONDS, clock=self._clock)).code
        except TimeoutError:
            deadline = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            return f"failing or missing response from {url}: Get {quote(url)}: {deadline}"
        except (DialError, BackendTLSError) as error:
            return f"failing or missing response from {url}: Get {quote(url)}: {error}"
        if not 200 <= code < 300:
            return f"failing or missing response from {url}: bad status from {url}: {code}"
        return ""

    async def _read_discovery(self, backend: Backend, *, is_reachable: bool) -> None:
        """Read the discovery document. What was read before is kept, and marked stale, when that fails."""
        is_stale = True
        if is_reachable:
            try:
                reading = self._resources(backend)
                backend.resources = await wait_for(reading, PROBE_SECONDS, clock=self._clock)
                is_stale = False
            except (TimeoutError, DialError, BackendTLSError, ResolveError, backend_discovery.DiscoveryError) as error:
                _log.warning("discovery of %s: %s", backend.spec.path, str(error) or "timed out")
        if backend.is_stale != is_stale or not is_stale:
            backend.is_stale = is_stale
            self._publish()

    async def _resources(self, backend: Backend) -> tuple[Tree, ...]:
        spec, location = backend.spec, self._dice.choice(backend.locations())
        answer = await backend.get(location, "/apis", accept=backend_discovery.ACCEPT, size_max=_DOCUMENT_BYTES_MAX)
        if answer.code == 200 and b"as=APIGroupDiscoveryList" in answer.content_type:
            document = backend_discovery.read_document(answer.body, "APIGroupDiscoveryList")
            resources = backend_discovery.resources_in(document, spec.group, spec.version)
            if resources is not None:
                return resources
        answer = await backend.get(location, spec.path, size_max=_DOCUMENT_BYTES_MAX)
        if answer.code != 200:
            raise backend_discovery.DiscoveryError(f"{spec.path}: status {answer.code}")
        return backend_discovery.convert_resource_list(backend_discovery.read_document(answer.body, "APIResourceList"))

    async def _write(self, name: str, outcome: Availability) -> bool:
        """Set the condition of an APIService; report whether the stored object has it now."""
        self.metrics.observe(name, outcome)
        cache = self._api_services.cache
        entry = cache.get(cache.key("", name))
        if entry is None:
            return True
        tree = self._api_services.cache.layout.tree(entry)
        status = plan_status(tree, outcome, now=self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
        if status is None:
            return True
        if not outcome.is_available:
            _log.warning("APIService %s is not available: %s: %s", name, outcome.reason, outcome.message)
        return await self._put_status({**tree, "status": status}) in (200, 404)
