"""Leader migration between two real processes: a controller moves, and never runs in both."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.client import Client, tree
from steersman.client.connecting import connect
from steersman.testing import ControlPlane

LEASES = tree("coordination.k8s.io/v1", "Lease")
MIGRATION = "move-replicasets"
CONFIGURATION = f"""
apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: {MIGRATION}
controllerLeaders:
- name: replicaset-controller
  component: "*"
"""


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as started:
        yield started


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect(plane.kubeconfig) as connected:
        yield connected


@contextlib.contextmanager
def manager(plane: ControlPlane, directory: Path, identity: str) -> Iterator[Path]:
    """Run a manager whose main lock is its own; give the path of its log."""
    configuration, log = directory / "migration.yaml", directory / f"{identity}.log"
    configuration.write_text(CONFIGURATION)
    command = [
        sys.executable, "-m", "steersman", "controller-manager", f"--kubeconfig={plane.kubeconfig}", "--port=0",
        "--secure-port=0", "--controllers=replicaset", "--v=1", f"--leader-elect-identity={identity}",
        f"--leader-elect-resource-name={identity}", "--enable-leader-migration",
        f"--leader-migration-config={configuration}",
    ]  # fmt: skip
    with log.open("w") as errors, subprocess.Popen(command, stderr=errors) as process:
        try:
            yield log
        finally:
            process.terminate()
            process.wait(HANG_SECONDS)


async def until_held(client: Client, name: str, identity: str) -> None:
    selector = f"metadata.name={name}"
    async with (
        asyncio.timeout(HANG_SECONDS),
        client.watch(LEASES, namespace="kube-system", field_selector=selector) as events,
    ):
        async for event in events:
            if event.type in ("ADDED", "MODIFIED") and (event.object["spec"].get("holderIdentity") or "") == identity:
                return


async def make_replica_set(client: Client, name: str) -> None:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}
    await client.create(body, namespace="default")


async def until_pod(client: Client, app: str) -> None:
    async with (
        asyncio.timeout(HANG_SECONDS),
        client.watch(tree("v1", "Pod"), namespace="default", label_selector=f"app={app}") as events,
    ):
        async for event in events:
            if event.type == "ADDED":
                return


async def test_controller_moves_from_one_process_to_another(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    account: dict[str, Any] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await client.create(account, namespace="default")
    with contextlib.ExitStack() as first:
        first.enter_context(manager(plane, tmp_path, "first"))
        await until_held(client, MIGRATION, "first")
        await make_replica_set(client, "a")
        await until_pod(client, "a")
        with manager(plane, tmp_path, "second") as log:
            await until_held(client, "second", "second")  # its main lock; the controller waits for the other one
            first.close()
            await until_held(client, MIGRATION, "second")
            await make_replica_set(client, "b")
            await until_pod(client, "b")
        lines = log.read_text().splitlines()
    became_leader = line_of(lines, f"{MIGRATION}: second has become the leader")
    assert line_of(lines, "second: second has become the leader") < became_leader
    assert became_leader < line_of(lines, "replicaset-controller starts")
    await until_held(client, MIGRATION, "")


def line_of(lines: list[str], text: str) -> int:
    return next(number for number, line in enumerate(lines) if text in line)
