"""Components start although the first attempt of each of their requests is cut."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.conformance.faults.over_tcp import components, proxied
from tests.conformance.faults.workloads import NAMESPACE, REPLICASETS, deployment
from tests.waits import holder_of, is_ready, wait_until

from steersman.client import tree

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

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
                await wait_until(client, LEASES, holder_of, name="kube-scheduler", namespace="kube-system")
            case "nodes":
                await wait_until(client, NODES, is_ready)
            case _:
                await client.create(deployment("web", 1))
                await wait_until(
                    client, REPLICASETS, lambda obj: obj["status"].get("replicas") == 1, namespace=NAMESPACE
                )
    assert plan.cut >= {("GET", "/api", False), ("GET", "/apis", False), cut}
