"""Services of APIServices and the locations that serve them, by the rules of ``webhooks.services``.

A location includes the kubelet that dials the pods of a simulated node. Upstream: ``k8s.io/apiserver/pkg/util/proxy/proxy.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.gotext import quote
from steersman.apiserver.proxying.kubelet import Location, kubelet_proxy_location
from steersman.apiserver.webhooks.services import Address, find_service_port, slice_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.registry import Registry, StoredResource

SERVICE_NAME_LABEL: Final = "kubernetes.io/service-name"


class ResolveError(Exception):
    """A Service has no address for a port; the text says why."""


def resolve(service: Tree | None, slices: Iterable[Tree], *, namespace: str, name: str, port: int) -> list[Address]:
    """Return the addresses that serve a port of a Service, at least one. Raises ``ResolveError``."""
    if service is None:
        raise ResolveError(f"service {quote(name)} not found")
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return [Address(spec.get("externalName") or "", port)]
    try:
        addresses = list(slice_addresses(slices, find_service_port(spec, name, port)))
    except StatusError as error:
        raise ResolveError(str(error)) from error
    if not addresses:
        raise ResolveError(f"no endpoints available for service {quote(f'{namespace}/{name}')}")
    return addresses


class ServiceResolver:
    """Resolves Services by the server's watch caches."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def services(self) -> StoredResource:
        """Services, with their cache."""
        return self._registry.stored("services")

    @property
    def slices(self) -> StoredResource:
        """EndpointSlices, with their cache."""
        return self._registry.stored("endpointslices.discovery.k8s.io")

    async def ready(self) -> None:
        """Return when the caches are filled."""
        await self.services.cache.ready()
        await self.slices.cache.ready()
        await self._registry.stored("nodes").cache.ready()

    def service(self, namespace: str, name: str) -> Tree | None:
        """Return a Service, not to be changed; None if there is none."""
        cache = self.services.cache
        entry = cache.get(cache.key(namespace, name))
        return None if entry is None else entry.tree()

    def endpoint_slices(self, namespace: str, name: str) -> list[Tree]:
        """Return the EndpointSlices of a Service."""
        cache = self.slices.cache
        entries = cache.snapshot(cache.scope(namespace))
        return [entry.tree() for entry in entries if entry.labels.get(SERVICE_NAME_LABEL) == name]

    def fingerprint(self, namespace: str, name: str) -> tuple[int, ...]:
        """Return a value that changes with the Service or its EndpointSlices."""
        cache = self.slices.cache
        entry = self.services.cache.get(self.services.cache.key(namespace, name))
        slices = cache.snapshot(cache.scope(namespace))
        revisions = [
            endpoint_slice.revision
            for endpoint_slice in slices
            if endpoint_slice.labels.get(SERVICE_NAME_LABEL) == name
        ]
        return (0 if entry is None else entry.revision, *revisions)

    def resolve(self, namespace: str, name: str, port: int, *, scheme: str = "https") -> Sequence[Location]:
        """Return the locations that serve a port of a Service, at least one. Raises ``ResolveError``."""
        nodes = self._registry.get("", "v1", "nodes")
        assert nodes is not None
        endpoints = resolve(
            self.service(namespace, name),
            self.endpoint_slices(namespace, name),
            namespace=namespace,
            name=name,
            port=port,
        )
        return [
            Location(
                endpoint.host, str(endpoint.port), scheme=scheme, way=kubelet_proxy_location(nodes, endpoint.node_name)
            )
            for endpoint in endpoints
        ]
