"""``steersman up --coordinated-elections``: the feature can be seen, and ``componentstatuses`` are true."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from tests.e2e.conftest import Kubectl
from tests.e2e.watching import until, until_one

from steersman.testing import ControlPlane

CANDIDATES = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
Tree = dict[str, Any]
NAMES = ("kube-controller-manager", "kube-scheduler")


def holder(lease: Tree | None) -> str:
    return "" if lease is None else str(lease["spec"].get("holderIdentity") or "")


def test_components_are_elected_and_steersman_elections_shows_it() -> None:
    with ControlPlane(whole=True, arguments=["--coordinated-elections"]) as cluster:
        until(cluster, CANDIDATES, lambda found: len(found) == len(NAMES))
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
