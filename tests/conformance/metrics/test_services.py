"""Series that Services change: the allocators of cluster IPs and node ports."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conformance.metrics.series import Scrapes, series

from steersman.testing import InProcessAPIServer

SERVICES = "/api/v1/namespaces/default/services"
CIDR = "10.0.0.0/24"
PREFIXES = ("kube_apiserver_clusterip_allocator_allocation_", "kube_apiserver_nodeport_allocator_allocation_")


@pytest.fixture
async def server():
    async with InProcessAPIServer() as server:
        yield server


@pytest.fixture
async def scrapes(server):
    scrapes = Scrapes(server)
    await scrapes.begin()
    return scrapes


async def create(server: InProcessAPIServer, query: str = "", name: str = "a", **spec: Any) -> int:
    body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    return (await server.request("POST", SERVICES + query, body=json.dumps(body).encode())).code


async def counted(scrapes: Scrapes) -> dict[Any, float]:
    """Return the changes of counters, without the sums of durations."""
    changes = await scrapes.changes(*PREFIXES)
    return {key: value for key, value in changes.items() if not key[0].endswith("_sum")}


async def test_selected_values_are_dynamic(server, scrapes):
    assert await create(server, type="NodePort") == 201
    assert await counted(scrapes) == {
        series("kube_apiserver_clusterip_allocator_allocation_total", cidr=CIDR, scope="dynamic"): 1,
        series("kube_apiserver_clusterip_allocator_allocation_duration_seconds_count", cidr=CIDR): 1,
        series("kube_apiserver_nodeport_allocator_allocation_total", scope="dynamic"): 1,
    }
    changes = await scrapes.changes("kube_apiserver_clusterip_allocator_a", "kube_apiserver_nodeport_allocator_a")
    assert changes[series("kube_apiserver_clusterip_allocator_allocated_ips", cidr=CIDR)] == 1
    assert changes[series("kube_apiserver_clusterip_allocator_available_ips", cidr=CIDR)] == -1
    assert changes[series("kube_apiserver_nodeport_allocator_allocated_ports")] == 1
    assert changes[series("kube_apiserver_nodeport_allocator_available_ports")] == -1


async def test_requested_values_are_static_and_count_as_errors_when_they_are_allocated(server, scrapes):
    values = {"type": "NodePort", "clusterIP": "10.0.0.77", "ports": [{"port": 80, "nodePort": 30077}]}
    assert await create(server, **values) == 201
    assert await create(server, name="b", clusterIP="10.0.0.77") == 422
    assert await create(server, name="c", type="NodePort", ports=[{"port": 80, "nodePort": 30077}]) == 422
    changes = await counted(scrapes)
    assert changes[series("kube_apiserver_clusterip_allocator_allocation_total", cidr=CIDR, scope="static")] == 1
    assert changes[series("kube_apiserver_clusterip_allocator_allocation_errors_total", cidr=CIDR, scope="static")] == 1
    assert changes[series("kube_apiserver_nodeport_allocator_allocation_total", scope="static")] == 1
    assert changes[series("kube_apiserver_nodeport_allocator_allocation_errors_total", scope="static")] == 1


async def test_dry_runs_and_invalid_services_count_nothing(server, scrapes):
    assert await create(server, "?dryRun=All", type="NodePort") == 201
    assert await create(server, type="NodePort", ports=[{"port": 80, "name": "A"}]) == 422
    assert await counted(scrapes) == {}
