"""Values that invalid Services request from a range: errors of their allocation precede those of validation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steersman.testing import InProcessAPIServer

SERVICES = "/api/v1/namespaces/default/services"
MISNAMED = {"name": "A", "port": 80}


@pytest.fixture
async def server():
    async with InProcessAPIServer() as server:
        yield server


async def faulty_fields(server: InProcessAPIServer, method: str, path: str, body: dict[str, Any]) -> set[str]:
    answer = await server.request(
        method,
        path,
        body=json.dumps(body).encode(),
        headers={"content-type": "application/merge-patch+json"} if method == "PATCH" else {},
    )
    assert answer.code == 422
    return {cause["field"] for cause in answer.json()["details"]["causes"]}


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"type": "NodePort", "ports": [{**MISNAMED, "nodePort": 80}]}, "spec.ports[0].nodePort"),
        ({"clusterIP": "192.0.2.1", "ports": [MISNAMED]}, "spec.clusterIPs"),
        ({"type": "NodePort", "ports": [MISNAMED]}, "spec.ports[0].name"),
    ],
)
async def test_create_reports_errors_of_allocation_alone(server, spec: dict[str, Any], field: str, query: str):
    body = {"metadata": {"name": "a"}, "spec": spec}
    assert await faulty_fields(server, "POST", SERVICES + query, body) == {field}


@pytest.mark.parametrize("metadata", [{}, {"name": ""}, {"generateName": "A"}, {"name": "A"}])
async def test_create_reports_names_when_addresses_are_available(server, metadata: dict[str, str]):
    fields = await faulty_fields(server, "POST", SERVICES, {"metadata": metadata, "spec": {"ports": [{"port": 80}]}})
    assert fields <= {"metadata.name", "metadata.generateName"}


async def test_update_reports_errors_of_port_allocation_alone(server):
    body = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    assert (await server.request("POST", SERVICES, body=json.dumps(body).encode())).code == 201
    spec: dict[str, Any] = {"clusterIP": "192.0.2.1", "ports": [MISNAMED]}
    assert await faulty_fields(server, "PATCH", f"{SERVICES}/a", {"spec": spec}) == {
        "spec.clusterIPs[0]",
        "spec.ports[0].name",
    }
    spec["ports"] = [{**MISNAMED, "nodePort": 80}]
    assert await faulty_fields(server, "PATCH", f"{SERVICES}/a", {"spec": spec}) == {"spec.ports[0].nodePort"}


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}, {"port": 81, "nodePort": 30001}]},
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": -1, "ports": []},
    ],
)
async def test_request_that_no_allocation_can_fulfil_is_invalid(server, spec: dict[str, Any]):
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    assert (await server.request("POST", SERVICES, body=json.dumps(body).encode())).code == 201
    assert await faulty_fields(server, "PATCH", f"{SERVICES}/a", {"spec": spec})
    body["metadata"]["name"] = "b"
    assert await faulty_fields(server, "POST", SERVICES, {**body, "spec": spec})
