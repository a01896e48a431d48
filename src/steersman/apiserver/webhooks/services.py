"""Addresses of Services for webhook calls: ready endpoints from EndpointSlices and Endpoints.

There is no kube-proxy that a cluster IP could rely on, so a call goes to an endpoint, as upstream's
``--enable-aggregator-routing`` does (``ResolveEndpoint`` of pkg/util/proxy).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from steersman.apimachinery.errors import not_found, service_unavailable
from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.watch_cache import WatchCache

_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_CACHED_MAX: Final = 1024


class Address(NamedTuple):
    """Host and port to connect to."""

    host: str
    port: int
    #: Node of the pod with the address, where an EndpointSlice names it.
    node_name: str = ""


class ServiceResolver(Protocol):
    """Resolves a port of a Service."""

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        """Return an address of a ready endpoint. Raises ``StatusError``."""


class StoredServices:
    """Resolver that reads the server's own watch caches. Results are memoized until one of the objects changes."""

    def __init__(self, cache_of: Callable[[str], WatchCache], *, dice: Random) -> None:
        """``cache_of`` returns the watch cache of a resource by name (``services``)."""
        self._cache_of: Final = cache_of
        self._dice: Final = dice
        self._caches: tuple[WatchCache, WatchCache, WatchCache] | None = None
        self._memo: Final[dict[tuple[str, str, int], Sequence[Address]]] = {}

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        """Return a random ready endpoint. Raises 404 without the Service, 503 without an endpoint."""
        caches = self._caches
        if caches is None:
            of = self._cache_of
            caches = (of("services"), of("endpointslices.discovery.k8s.io"), of("endpoints"))
            for cache in caches:
                cache.follow(self)
            self._caches = caches
        for cache in caches:
            await cache.wait_fresh()
        key = (namespace, name, port)
        addresses = self._memo.get(key)
        if addresses is None:
            if len(self._memo) >= _CACHED_MAX:
                self._memo.clear()
            addresses = self._memo[key] = _addresses(caches, namespace, name, port)
        if not addresses:
            raise service_unavailable(f"no endpoints available for service {quote(name)}")
        return addresses[0] if len(addresses) == 1 else self._dice.choice(addresses)

    # -- follower of the caches ----------------------------------------------------------------------------------------

    def reset(self, entries: list[Entry]) -> None:
        """Forget all results."""
        self._memo.clear()

    def put(self, entry: Entry) -> None:
        """Forget all results."""
        self._memo.clear()

    def remove(self, key: str) -> None:
        """Forget all results."""
        self._memo.clear()


def _addresses(
    caches: tuple[WatchCache, WatchCache, WatchCache], namespace: str, name: str, port: int
) -> Sequence[Address]:
    services, slices, endpoints = caches
    entry = services.get(services.key(namespace, name))
    if entry is None:
        raise not_found("service", name)
    spec: Tree = entry.tree().get("spec") or {}
    if spec.get("type") == "ExternalName":
        return (Address(spec.get("externalName") or "", port),)
    service_port = find_service_port(spec, name, port)
    of_service = [
        cached.tree()
        for cached in slices.snapshot(slices.scope(namespace))
        if cached.labels.get(_SERVICE_LABEL) == name
    ]
    addresses = tuple(slice_addresses(of_service, service_port))
    if addresses or of_service:
        return addresses
    entry = endpoints.get(endpoints.key(namespace, name))
    return () if entry is None else tuple(endpoints_addresses(entry.tree(), service_port))


def find_service_port(spec: Tree, name: str, port: int) -> str:
    """Return the name of the Service's port with a number. Raises 503 if there is none."""
    for service_port in spec.get("ports") or ():
        if service_port.get("port") == port:
            return service_port.get("name") or ""
    raise service_unavailable(f"no service port {port} found for service {quote(name)}")


def slice_addresses(slices: Iterable[Tree], port_name: str) -> Iterable[Address]:
    """Yield the ready addresses of EndpointSlices for a port name."""
    for endpoint_slice in slices:
        numbers = _ports(endpoint_slice.get("ports"), port_name)
        for endpoint in endpoint_slice.get("endpoints") or () if numbers else ():
            if (endpoint.get("conditions") or {}).get("ready") is not False:
                node = endpoint.get("nodeName") or ""
                yield from (Address(address, numbers[0], node) for address in endpoint.get("addresses") or ())


def endpoints_addresses(endpoints: Tree, port_name: str) -> Iterable[Address]:
    """Yield the ready addresses of Endpoints for a port name."""
    for subset in endpoints.get("subsets") or ():
        numbers = _ports(subset.get("ports"), port_name)
        if numbers:
            yield from (Address(address["ip"], numbers[0]) for address in subset.get("addresses") or ())


def _ports(ports: Any, name: str) -> list[int]:
    return [port["port"] for port in ports or () if (port.get("name") or "") == name and port.get("port")]
