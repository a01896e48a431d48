"""``steersman up --coordinated-elections``: the feature can be seen, and ``componentstatuses`` are true."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl, post
from tests.e2e.watching import until, until_one

from steersman.apimachinery.timestamps import format_micro_time
from steersman.apimachinery.trees import Tree
from steersman.asynckit.clock import RealClock
from steersman.testing import ControlPlane

CANDIDATES = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NAMES = ("kube-controller-manager", "kube-scheduler")


def holder(lease: Tree | None) -> str:
    return "" if lease is None else str(lease["spec"].get("holderIdentity") or "")


def test_components_are_elected_and_steersman_elections_shows_it() -> None:
    with ControlPlane(whole=True, arguments=["--coordinated-elections"]) as cluster:
        until(cluster, CANDIDATES, lambda objects: len(objects) == len(NAMES))
        holders = {name: until_one(cluster, f"{LEASES}/{name}", holder) for name in NAMES}
        environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
        shown = subprocess.run(
            [sys.executable, "-m", "steersman", "elections"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    for name, identity in holders.items():
        assert f"kube-system/{name}: {identity} leads for" in shown
        assert f"HolderIsBest: {identity} holds it and is the best" in shown


def test_component_statuses_of_a_whole_control_plane(admin: Kubectl, tmp_path: Any) -> None:
    alone = admin.run("get", "componentstatuses", "--no-headers")
    assert "etcd-0 " in alone
    with ControlPlane(whole=True) as cluster:
        until(cluster, "/api/v1/nodes", bool)
        lines = Kubectl(cluster, tmp_path).run("get", "componentstatuses", "--no-headers").splitlines()
    assert [line.split() for line in lines] == [
        [name, "Healthy", "ok"] for name in ("controller-manager", "etcd-0", "scheduler")
    ]


GUIDE = Path(__file__).parents[2] / "docs" / "coordinated-leader-election.md"
EXAMPLES = Path(__file__).parents[2] / "examples"
Start = Callable[[list[str]], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(plane: ControlPlane) -> Iterator[Start]:
    """Start processes against the cluster, and end those that are left."""
    processes = []

    def run(command: list[str]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig)}
        processes.append(subprocess.Popen([sys.executable, *command], env=environment, stderr=subprocess.DEVNULL))
        return processes[-1]

    yield run
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(HANG_SECONDS)


def test_upgrade_and_rollback_of_the_guide(plane: ControlPlane, start: Start) -> None:
    text = GUIDE.read_text()
    (flags,) = re.findall(r'^FLAGS="(.*)"$', text, re.MULTILINE)
    lines = re.findall(r"^steersman (controller-manager .*) \$FLAGS &$", text, re.MULTILINE)
    commands = {
        re.findall(r"identity=(\S+)", line)[0]: ["-m", "steersman", *shlex.split(f"{line} {flags}")] for line in lines
    }
    lease = f"{LEASES}/kube-controller-manager"

    def until_candidates(*names: str) -> None:
        until(plane, CANDIDATES, lambda objects: {one["metadata"]["name"] for one in objects} == set(names))

    def until_leader(*names: str) -> str:
        return until_one(plane, lease, lambda obj: holder(obj) if holder(obj) in names else "")

    replicas = {name: start(commands[name]) for name in ("old-1", "old-2")}
    until_candidates("old-1", "old-2")
    first = until_leader("old-1", "old-2")
    replicas |= {name: start(commands[name]) for name in ("next", "new")}
    until_candidates("old-1", "old-2", "next", "new")
    assert until_leader("old-1", "old-2") == first
    replicas[first].send_signal(signal.SIGTERM)
    (second,) = {"old-1", "old-2"} - {first}
    until_leader(second)
    assert replicas[first].wait(HANG_SECONDS) == 0
    replicas[second].send_signal(signal.SIGTERM)
    until_leader("next")
    start(commands["back"])
    until_leader("back")
    until_candidates("back", "next", "new")
    replicas["new"].kill()
    replicas["next"].send_signal(signal.SIGTERM)
    until_candidates("back", "new")


def test_third_party_strategy_elects_the_newest_version(plane: ControlPlane, start: Start) -> None:
    process = start([str(EXAMPLES / "newest_version_strategy.py")])

    def join(name: str, version: str) -> None:
        spec = {
            "leaseName": "worker", "binaryVersion": "1.36.0", "emulationVersion": version,
            "strategy": "example.com/NewestEmulationVersion", "renewTime": format_micro_time(RealClock().now()),
        }  # fmt: skip
        body = {"apiVersion": "coordination.k8s.io/v1beta1", "kind": "LeaseCandidate", "metadata": {"name": name}}
        post(plane, CANDIDATES, {**body, "spec": spec})

    lease = f"{LEASES}/worker"
    join("older", "1.34.0")
    until_one(plane, lease, lambda obj: holder(obj) == "older")
    join("newer", "1.35.0")
    until_one(plane, lease, lambda obj: obj is not None and "newer" in (holder(obj), preferred(obj)))
    process.send_signal(signal.SIGTERM)
    assert process.wait(HANG_SECONDS) == 0


def preferred(lease: Tree) -> str:
    return str(lease["spec"].get("preferredHolder") or "")
