"""Repairs of cluster IPs from the live state."""

from ipaddress import ip_network

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import Client, tree
from steersman.client.errors import NotFound
from steersman.controlplane.bootstrap.cluster_ip_repair import ADDRESSES, ClusterIPRepairer
from steersman.controlplane.bootstrap.repair_reporter import Reporter
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer

SERVICES = tree("v1", "Service")


@pytest.fixture
async def clock():
    return FakeClock()


@pytest.fixture
async def client(clock):
    async with InProcessAPIServer(clock=clock, store=MemoryStore(clock=clock)) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.fixture
def reporter():
    return Reporter("m", "cluster IPs")


@pytest.fixture
def repairer(client, clock, reporter):
    return ClusterIPRepairer(client, own=[ip_network("10.0.0.0/24")], clock=clock, reporter=reporter)


def service(name):
    metadata = {"namespace": "default", "name": name}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}


async def test_pass_repairs_services_and_addresses(client, clock, repairer, reporter):
    cluster_ip = (await client.create(service("a")))["spec"]["clusterIP"]
    await client.delete(ADDRESSES, cluster_ip)
    orphan = await client.get(ADDRESSES, (await client.create(service("b")))["spec"]["clusterIP"])
    orphan["spec"]["parentRef"]["name"] = "gone"
    ip = orphan["metadata"]["name"]
    await client.delete(SERVICES, "b", namespace="default")
    await client.create({**orphan, "metadata": {"name": ip, "labels": orphan["metadata"]["labels"]}})
    await clock.advance(62)
    await repairer.whole_pass()
    assert (await client.get(ADDRESSES, cluster_ip))["spec"]["parentRef"]["name"] == "a"
    with pytest.raises(NotFound):
        await client.get(ADDRESSES, ip)
    assert (await reporter.collect())[0].samples == [("", (("type", "repair"),), 1), ("", (("type", "leak"),), 1)]


async def test_check_restores_labels_of_an_address(client, repairer):
    ip = (await client.create(service("a")))["spec"]["clusterIP"]
    await client.patch(ADDRESSES, ip, {"metadata": {"labels": None}})
    await repairer.whole_pass()
    labels = (await client.get(ADDRESSES, ip))["metadata"]["labels"]
    assert labels["ipaddress.kubernetes.io/managed-by"] == "ipallocator.k8s.io"


async def test_check_is_repeated_when_the_service_changes_meanwhile(client, repairer, reporter, monkeypatch):
    """It gave its address back between two reads: what is missing is not a fault."""
    ip = (await client.create(service("a")))["spec"]["clusterIP"]
    get = client.get

    async def late(resource, name, **options):
        response = await get(resource, name, **options)
        if resource == SERVICES:
            monkeypatch.setattr(client, "get", get)
            to_name = {"spec": {"type": "ExternalName", "externalName": "x.example.com"}}
            await client.patch(SERVICES, "a", to_name, namespace="default")
        return response

    monkeypatch.setattr(client, "get", late)
    assert await repairer.check("service:default/a") == 0.5
    with pytest.raises(NotFound):
        await client.get(ADDRESSES, ip)
    assert (await reporter.collect())[0].samples == []


async def test_check_of_deleted_objects_does_nothing(repairer):
    assert await repairer.check("service:default/none") is None
    assert await repairer.check("address:10.0.0.99") is None
