"""Parts of bootstrap that have no test of their own: writers of the Service, of Endpoints and of namespaces.

The loops around them are tested in ``bootstrap.test_controller`` and ``bootstrap.test_loops``.
"""

from ipaddress import ip_network

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import Client, tree
from steersman.client.errors import ApiError, Conflict
from steersman.controlplane.bootstrap.create_namespaces import create_namespaces
from steersman.controlplane.bootstrap.endpoint_reconcilers import EndpointsWriter, NoneReconciler
from steersman.controlplane.bootstrap.endpoints import endpoint_ports, plan_endpoints
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.kubernetes_service import DesiredService
from steersman.controlplane.bootstrap.service_writes import SERVICES, correct_service
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer

ENDPOINTS = tree("v1", "Endpoints")
DESIRED = DesiredService(ip="10.0.0.1", target_port=6443)


@pytest.fixture
async def client():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock, store=MemoryStore(clock=clock)) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


def plan(obj):
    return plan_endpoints(obj, ["192.0.2.1"], endpoint_ports(6443), correct_ports=False)


async def test_endpoints_are_written_once(client):
    writer = EndpointsWriter(client)
    assert await writer.write(plan) is True
    assert await writer.write(plan) is False


async def test_endpoints_writer_retries_after_a_conflict(client, monkeypatch):
    create, lost = client.create, iter([True, True])

    async def lose(obj, **options):
        if next(lost, False):
            raise Conflict({"code": 409, "reason": "Conflict"})
        return await create(obj, **options)

    monkeypatch.setattr(client, "create", lose)
    assert await EndpointsWriter(client).write(plan) is True


async def test_other_rejections_are_raised(client, monkeypatch):
    async def refuse(obj, **options):
        raise ApiError({"code": 500, "message": "no"})

    monkeypatch.setattr(client, "create", refuse)
    with pytest.raises(ApiError):
        await EndpointsWriter(client).write(plan)


async def test_endpoints_are_not_published_without_servers():
    assert await NoneReconciler().reconcile(correct_ports=True) is None
    assert await NoneReconciler().remove() is False


async def test_correct_service_creates_updates_and_replaces(client):
    ranges = [ip_network("10.0.0.0/24")]
    assert await correct_service(client, DESIRED, ranges=ranges, at_start=True)
    assert not await correct_service(client, DESIRED, ranges=ranges, at_start=True)
    moved = DesiredService(ip="10.0.0.1", target_port=16443)
    assert await correct_service(client, moved, ranges=ranges, at_start=True)
    service = await client.get(SERVICES, "kubernetes", namespace="default")
    assert service["spec"]["ports"][0]["targetPort"] == 16443
    elsewhere = DesiredService(ip="10.0.0.2", target_port=16443)
    assert await correct_service(client, elsewhere, ranges=ranges, at_start=False)
    assert (await client.get(SERVICES, "kubernetes", namespace="default"))["spec"]["clusterIP"] == "10.0.0.2"


async def test_create_namespaces_creates_missing_ones(client):
    await create_namespaces(client, ["default", "mine"])
    assert await client.get(tree("v1", "Namespace"), "mine")


async def test_correct_service_accepts_one_created_meanwhile(client, monkeypatch):
    ranges, create = [ip_network("10.0.0.0/24")], client.create

    async def create_twice(obj, **options):
        await create(obj, **options)
        return await create(obj, **options)

    monkeypatch.setattr(client, "create", create_twice)
    assert await correct_service(client, DESIRED, ranges=ranges, at_start=True)
    assert await client.get(SERVICES, "kubernetes", namespace="default")


async def test_create_namespaces_accepts_one_created_meanwhile(client, monkeypatch):
    create = client.create

    async def create_twice(obj, **options):
        await create(obj, **options)
        return await create(obj, **options)

    monkeypatch.setattr(client, "create", create_twice)
    await create_namespaces(client, ["mine"])
    assert await client.get(tree("v1", "Namespace"), "mine")


async def test_create_namespaces_tries_all_and_names_the_refused_ones(client):
    with pytest.raises(BootstrapError, match=r"system namespace A_b: .*; c\.d: "):
        await create_namespaces(client, ["A_b", "c.d", "mine"])
    assert await client.get(tree("v1", "Namespace"), "mine")


def test_failed_start_reports_the_reason():
    assert str(BootstrapError("because")) == "because"
