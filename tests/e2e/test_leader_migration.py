"""Leader migration between two real processes: a controller moves, and never runs in both."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.busy_machine import HANG_SECONDS
from tests.waits import holder_of, wait_until

from steersman.client import Client, tree
from steersman.testing import ControlPlane

LEASES, PODS = tree("coordination.k8s.io/v1", "Lease"), tree("v1", "Pod")
MIGRATION = "move-replicasets"
CONFIGURATION = f"""
apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: {MIGRATION}
controllerLeaders:
- name: replicaset-controller
  component: "*"
"""


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


async def wait_held(client: Client, name: str, identity: str) -> None:
    await wait_until(client, LEASES, lambda lease: holder_of(lease) == identity, name=name, namespace="kube-system")


async def make_replica_set(client: Client, name: str) -> None:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}
    await client.create(body, namespace="default")


async def wait_for_pod(client: Client, app: str) -> None:
    await wait_until(client, PODS, bool, namespace="default", label_selector=f"app={app}")


async def test_controller_moves_from_one_process_to_another(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    account: dict[str, Any] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await client.create(account, namespace="default")
    with contextlib.ExitStack() as first:
        first.enter_context(manager(plane, tmp_path, "first"))
        await wait_held(client, MIGRATION, "first")
        await make_replica_set(client, "a")
        await wait_for_pod(client, "a")
        with manager(plane, tmp_path, "second") as log:
            await wait_held(client, "second", "second")  # its main lock; the controller waits for the other one
            first.close()
            await wait_held(client, MIGRATION, "second")
            await make_replica_set(client, "b")
            await wait_for_pod(client, "b")
        lines = log.read_text().splitlines()
    became_leader = line_of(lines, f"{MIGRATION}: second has become the leader")
    assert line_of(lines, "second: second has become the leader") < became_leader
    assert became_leader < line_of(lines, "replicaset-controller starts")
    await wait_held(client, MIGRATION, "")


def line_of(lines: list[str], text: str) -> int:
    return next(number for number, line in enumerate(lines) if text in line)
