"""Addresses of Services."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from random import Random
from typing import Any

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.kinds.core.service.allocation import ServiceAllocator
from steersman.apiserver.kinds.core.service.strategy import ServiceStrategy
from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.apiserver.webhooks.services import Address, StoredServices
from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore

CORE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def services() -> ServiceStrategy:
    allocator = ServiceAllocator(
        MemoryStore(clock=FakeClock()),
        networks=[ip_network("10.96.0.0/28")],
        ports=PortRange(30000, 30031),
        dice=Random(1),
    )
    return ServiceStrategy(allocator)


class Cluster(Server):
    """Server with a resolver of its Services."""

    def __init__(self) -> None:
        super().__init__(strategies={"services": services})
        self.resolver = StoredServices(lambda name: self.registry.stored(name).cache, dice=Random(1))

    async def service(self, **spec: Any) -> None:
        ports = [{"name": "web", "port": 443, "targetPort": 8443}, {"name": "other", "port": 80}]
        spec = {"ports": ports, "clusterIP": "None", **spec}
        await self.make(f"{CORE}/services", metadata={"name": "hook"}, spec=spec)

    async def slice(self, *addresses: str, name: str = "hook-1", port: int = 8443, ready: bool = True) -> None:
        await self.make(
            SLICES,
            metadata={"name": name, "labels": {"kubernetes.io/service-name": "hook"}},
            addressType="IPv4",
            ports=[{"name": "other", "port": 8080}, {"name": "web", "port": port}],
            endpoints=[{"addresses": [address], "conditions": {"ready": ready}} for address in addresses],
        )

    async def resolve(self, port: int = 443) -> Address:
        return await self.resolver.resolve("default", "hook", port)

    async def refusal(self, port: int = 443) -> str:
        with pytest.raises(StatusError) as caught:
            await self.resolve(port)
        return caught.value.message


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster() as new_cluster:
        yield new_cluster


async def test_resolve_takes_port_of_ready_endpoint_in_slices(cluster: Cluster):
    await cluster.service()
    await cluster.slice("10.0.0.8", name="unready", ready=False)
    await cluster.slice("10.0.0.9")
    assert await cluster.resolve() == Address("10.0.0.9", 8443)
    assert await cluster.resolve(80) == Address("10.0.0.9", 8080)


async def test_resolve_follows_changes(cluster: Cluster):
    assert await cluster.refusal() == 'service "hook" not found'
    await cluster.service()
    assert await cluster.refusal() == 'no endpoints available for service "hook"'
    await cluster.slice("10.0.0.9")
    assert await cluster.resolve() == Address("10.0.0.9", 8443)
    assert await cluster.refusal(444) == 'no service port 444 found for service "hook"'
    assert (await cluster.call("DELETE", f"{SLICES}/hook-1")).code == 200
    assert await cluster.refusal() == 'no endpoints available for service "hook"'


async def test_resolve_reads_endpoints_without_slices(cluster: Cluster):
    await cluster.service()
    subset = {"addresses": [{"ip": "10.0.0.7"}], "ports": [{"name": "web", "port": 9443}]}
    await cluster.make(f"{CORE}/endpoints", metadata={"name": "hook"}, subsets=[subset])
    assert await cluster.resolve() == Address("10.0.0.7", 9443)


async def test_resolve_chooses_among_endpoints(cluster: Cluster):
    await cluster.service()
    await cluster.slice("10.0.0.1", "10.0.0.2")
    assert {(await cluster.resolve()).host for _ in range(50)} == {"10.0.0.1", "10.0.0.2"}


async def test_resolve_returns_external_name(cluster: Cluster):
    await cluster.service(type="ExternalName", externalName="hook.example.com", clusterIP=None, ports=None)
    assert await cluster.resolve(8443) == Address("hook.example.com", 8443)
