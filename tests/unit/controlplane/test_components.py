"""Everything beside an API server, over TCP as in real life; the recordings and e2e tests say what it does."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.waits import holder_of, is_ready, wait_until

from steersman.client import Client, tree
from steersman.client.connecting import connect
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.component_health import health_socket
from steersman.controlplane.components import run_all, run_nodes, run_scheduler
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.options import APIServerOptions
from steersman.nodes.options import NodesOptions
from steersman.scheduler.options import set_up

ACCOUNTS, NODES, PODS = tree("v1", "ServiceAccount"), tree("v1", "Node"), tree("v1", "Pod")


def pod(name: str) -> dict[str, Any]:
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize("together", [True, False])
async def test_pod_is_bound_and_runs(tmp_path: Path, together: bool) -> None:
    server = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path))
    reading, writing = os.pipe()
    pipes = [reading, os.dup(reading)]
    kubeconfig = server.kubeconfig
    nodes = NodesOptions(kubeconfig=kubeconfig)
    scheduler = set_up(kubeconfig=kubeconfig, leader_elect=not together, port=0)
    controllers = ManagerOptions(kubeconfig=kubeconfig, port=0, controllers=("serviceaccount-controller",))
    beside = (
        [run_all(controllers, scheduler, nodes, parent_pipe=pipes[0])]
        if together
        else [run_scheduler(scheduler, parent_pipe=pipes[0]), run_nodes(nodes, parent_pipe=pipes[1])]
    )
    running = [asyncio.ensure_future(item) for item in beside]
    try:
        async with connect(kubeconfig) as client:
            await wait_until(client, NODES, is_ready, name="node-0")
            account = {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "default", "namespace": "default"},
            }
            _ = together or await client.create(account)
            await wait_until(client, ACCOUNTS, bool, name="default", namespace="default")
            await client.create(pod("p"))
            result = await wait_until(client, PODS, is_ready, name="p", namespace="default")
            assert result["spec"]["nodeName"] == "node-0"
    finally:
        os.close(writing)  # what a parent's end looks like
        codes = await asyncio.gather(*running)
        await server.stop()
        for pipe in pipes:
            os.close(pipe)
    assert codes == [0] * len(running)


async def test_missing_cluster_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run_nodes(NodesOptions(kubeconfig=tmp_path / "missing")) == 1
    assert "missing" in capsys.readouterr().err


async def test_components_of_up_are_candidates_and_healthy(tmp_path: Path) -> None:
    server = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path))
    reading, writing = os.pipe()
    socket = health_socket()
    server.components.use_socket(socket)
    controllers = ManagerOptions(
        kubeconfig=server.kubeconfig,
        port=0,
        controllers=("serviceaccount-controller",),
        coordinated_leader_election=True,
    )
    scheduler = set_up(kubeconfig=server.kubeconfig, port=0)
    nodes = NodesOptions(kubeconfig=server.kubeconfig)
    running = asyncio.ensure_future(run_all(controllers, scheduler, nodes, parent_pipe=reading, health_socket=socket))
    names = {"kube-controller-manager", "kube-scheduler"}
    try:
        async with connect(server.kubeconfig) as client:
            for name in names:
                await wait_until(client, LEASES, holder_of, name=name, namespace="kube-system")
            candidates = await client.list_all(CANDIDATES, namespace="kube-system")
            assert {candidate["spec"]["leaseName"] for candidate in candidates} == names
            assert await healthy_components(client) == {"controller-manager", "etcd-0", "scheduler"}
            os.close(writing)
            assert await running == 0
            assert await client.list_all(CANDIDATES, namespace="kube-system") == []
            assert await healthy_components(client) == {"etcd-0"}
    finally:
        running.cancel()
        await asyncio.wait([running])
        await server.stop(grace_seconds=0)
        os.close(reading)


async def healthy_components(client: Client) -> set[str]:
    statuses = await client.list_all(await client.discover("v1", "ComponentStatus"))
    return {status["metadata"]["name"] for status in statuses if status["conditions"][0]["status"] == "True"}
