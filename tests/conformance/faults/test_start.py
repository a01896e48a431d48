"""Components start although the first attempt of each of their requests is cut."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.conformance.faults.over_tcp import components, proxied
from tests.conformance.faults.workloads import NAMESPACE, REPLICASETS, deployment

from steersman.client import tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiohttp import web

    from steersman.client import Client

LEASES, NODES = tree("coordination.k8s.io/v1", "Lease"), tree("v1", "Node")


class FirstAttempts:
    """Resets the connection at the first read, and after the first write, of each path."""

    def __init__(self) -> None:
        self.dice = Random(1)
        self.cut: set[tuple[str, str, bool]] = set()

    def for_request(self, request: web.BaseRequest) -> str:
        key = (request.method, request.path, "watch" in request.query)
        if key in self.cut:
            return ""
        self.cut.add(key)
        return "lost" if request.method == "GET" else "answer lost"

    def for_piece(self) -> str:
        return ""


async def until(client: Client, resource: Any, holds: Callable[[Any], bool], namespace: str | None = None) -> None:
    """Wait until an object of the kind is as asked."""
    async with asyncio.timeout(HANG_SECONDS), client.watch(resource, namespace=namespace, bookmarks=False) as events:
        async for event in events:
            if holds(event.object):
                return
    raise AssertionError("the watch has ended")


def has_leader(name: str) -> Callable[[Any], bool]:
    return lambda lease: lease["metadata"]["name"] == name and bool(lease["spec"].get("holderIdentity"))


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("scheduler", ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", False)),
        ("nodes", ("POST", "/api/v1/nodes", False)),
        (
            "controller-manager",
            ("POST", "/api/v1/namespaces/kube-system/serviceaccounts/deployment-controller/token", False),
        ),
    ],
)
async def test_component_starts_when_the_first_attempt_of_each_request_is_cut(name, cut, tmp_path: Path):
    plan = FirstAttempts()
    async with proxied(plan, tmp_path) as (client, kubeconfig), components(kubeconfig, name):
        match name:
            case "scheduler":
                await until(client, LEASES, has_leader("kube-scheduler"), "kube-system")
            case "nodes":
                await until(client, NODES, is_node_ready)
            case _:
                await client.create(deployment("web", 1))
                await until(client, REPLICASETS, lambda rs: (rs.get("status") or {}).get("replicas") == 1, NAMESPACE)
    assert plan.cut >= {("GET", "/api", False), ("GET", "/apis", False), cut}


def is_node_ready(node: Any) -> bool:
    conditions = node["status"].get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
