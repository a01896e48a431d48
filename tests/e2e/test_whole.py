"""The main job, with kubectl: what is applied becomes ready, moves when its node goes, and survives a crash of it all."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.e2e.conftest import MANIFESTS, Kubectl

from steersman.testing import ControlPlane

NODES = 5
#: For what takes as long as the machine is busy; nothing here waits for a fixed time.
PATIENCE = "--timeout=50s"


@pytest.fixture(scope="module")
def whole() -> Iterator[ControlPlane]:
    with ControlPlane(ephemeral=False, whole=True, nodes=NODES) as started:
        yield started


@pytest.fixture(scope="module")
def admin(whole: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    made = Kubectl(whole, tmp_path_factory.mktemp("home"))
    until(lambda: len(ready_nodes(made)) == NODES)
    return made


@pytest.fixture
def namespaced(admin: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A namespace that goes with its test, as controllers see to it."""
    name = request.node.name.replace("_", "-")[:60].rstrip("-")
    admin.run("create", "namespace", name)
    yield Kubectl(admin.cluster, admin.home, name)
    admin.run("delete", "namespace", name, PATIENCE)


def until(holds: Callable[[], object], *, seconds: float = 60.0) -> None:
    """Ask again and again until it holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to be in time"
        time.sleep(0.2)


def ready_nodes(kubectl: Kubectl) -> list[str]:
    items = kubectl.get("nodes")["items"]
    return [
        each["metadata"]["name"]
        for each in items
        if any(one["type"] == "Ready" and one["status"] == "True" for one in each["status"]["conditions"])
    ]


def pods(kubectl: Kubectl, selector: str = "") -> list[dict[str, Any]]:
    """Those that nobody has asked to go."""
    items = kubectl.get("pods", f"--selector={selector}")["items"]
    return [each for each in items if not each["metadata"].get("deletionTimestamp")]


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def rolled_out(kubectl: Kubectl, *objects: str) -> None:
    for each in objects:
        kubectl.run("rollout", "status", each, PATIENCE)


def test_a_manifest_of_several_tiers_becomes_ready(admin: Kubectl) -> None:
    admin.run("apply", "-f", str(MANIFESTS / "tiers.yaml"))
    kubectl = Kubectl(admin.cluster, admin.home, "tiers")
    rolled_out(kubectl, "deployment/web", "deployment/cache", "statefulset/database", "daemonset/agent")
    kubectl.run("wait", "--for=condition=complete", "job/seed", PATIENCE)

    claims = kubectl.get("persistentvolumeclaims")["items"]
    assert [each["status"]["phase"] for each in claims] == ["Bound"] * 3
    assert len({each["spec"]["nodeName"] for each in pods(kubectl, "app=database")}) == 3
    assert len({each["spec"]["nodeName"] for each in pods(kubectl, "app=agent")}) == NODES
    slices = kubectl.get("endpointslices", "--selector=kubernetes.io/service-name=web")["items"]
    addresses = [address for each in slices for end in each["endpoints"] for address in end["addresses"]]
    assert sorted(addresses) == sorted(each["status"]["podIP"] for each in pods(kubectl, "app=web"))
    until(lambda: kubectl.get("poddisruptionbudget", "web")["status"].get("disruptionsAllowed") == 1)
    assert kubectl.get("cronjob", "report")["spec"]["suspend"] is False
    for kind, name in (("ingress", "web"), ("networkpolicy", "database"), ("horizontalpodautoscaler", "cache")):
        assert f"Name:  {name}".split() == kubectl.run("describe", kind, name).splitlines()[0].split()

    kubectl.run("create", "job", "now", "--from=cronjob/report")
    kubectl.run("wait", "--for=condition=complete", "job/now", PATIENCE)
    admin.run("delete", "-f", str(MANIFESTS / "tiers.yaml"), PATIENCE)
    until(lambda: not admin.get("persistentvolumes")["items"])


def test_rollouts(namespaced: Kubectl) -> None:
    run = namespaced.run
    run("create", "deployment", "web", "--image=web:1", "--replicas=3", "--port=80")
    rolled_out(namespaced, "deployment/web")
    run("set", "image", "deployment/web", "web=web:2")
    rolled_out(namespaced, "deployment/web")
    history = run("rollout", "history", "deployment/web").split()
    assert [word for word in history if word.isdigit()] == ["1", "2"]
    assert {each["spec"]["containers"][0]["image"] for each in pods(namespaced, "app=web")} == {"web:2"}
    run("rollout", "undo", "deployment/web")
    rolled_out(namespaced, "deployment/web")
    assert {each["spec"]["containers"][0]["image"] for each in pods(namespaced, "app=web")} == {"web:1"}
    before = {each["metadata"]["uid"] for each in pods(namespaced, "app=web")}
    run("rollout", "restart", "deployment/web")
    rolled_out(namespaced, "deployment/web")
    after = {each["metadata"]["uid"] for each in pods(namespaced, "app=web")}
    assert (len(after), before & after) == (3, set())
    run("rollout", "pause", "deployment/web")
    run("set", "image", "deployment/web", "web=web:3")
    until(lambda: is_paused(namespaced))
    assert {each["spec"]["containers"][0]["image"] for each in pods(namespaced, "app=web")} == {"web:1"}
    run("rollout", "resume", "deployment/web")
    rolled_out(namespaced, "deployment/web")
    assert {each["spec"]["containers"][0]["image"] for each in pods(namespaced, "app=web")} == {"web:3"}

    run("expose", "deployment", "web", "--port=80")
    slices = ("endpointslices", "--selector=kubernetes.io/service-name=web")
    until(lambda: sum(len(each.get("endpoints") or ()) for each in namespaced.get(*slices)["items"]) == 3)
    run("autoscale", "deployment", "web", "--min=4", "--max=6", "--cpu-percent=50")
    assert namespaced.get("horizontalpodautoscaler", "web")["spec"]["minReplicas"] == 4


def is_paused(kubectl: Kubectl) -> bool:
    found = kubectl.get("deployment", "web")
    conditions = found["status"]["conditions"]
    is_seen = found["status"].get("observedGeneration") == found["metadata"]["generation"]
    return is_seen and any(each.get("reason") == "DeploymentPaused" for each in conditions)


def test_a_drained_nodes_pods_move_one_by_one(namespaced: Kubectl, admin: Kubectl) -> None:
    namespaced.run("create", "deployment", "web", "--image=web", "--replicas=10")
    namespaced.run("create", "poddisruptionbudget", "web", "--selector=app=web", "--max-unavailable=1")
    rolled_out(namespaced, "deployment/web")
    until(lambda: namespaced.get("poddisruptionbudget", "web")["status"].get("disruptionsAllowed") == 1)
    victim = pods(namespaced)[0]["spec"]["nodeName"]
    admin.run("drain", victim, "--ignore-daemonsets", PATIENCE)
    assert victim not in {each["spec"].get("nodeName") for each in pods(namespaced)}
    rolled_out(namespaced, "deployment/web")
    admin.run("uncordon", victim)


def test_a_killed_nodes_pods_move(namespaced: Kubectl, admin: Kubectl) -> None:
    tolerations = [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
        for why in ("unreachable", "not-ready")
    ]
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations},
    }
    spec = {"replicas": 10, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    namespaced.run("create", "-f", "-", stdin=json.dumps(made))
    rolled_out(namespaced, "deployment/web")
    victim = pods(namespaced)[0]["spec"]["nodeName"]
    admin.run("annotate", "node", victim, "nodes.steersman.dev/stopped=true")
    # Nobody hears of the node for as long as nodes may be silent (node-monitor-grace-period, 50 s).
    until(lambda: victim not in ready_nodes(admin), seconds=100)
    until(lambda: victim not in {each["spec"].get("nodeName") for each in pods(namespaced)})
    until(lambda: sum(map(is_ready, pods(namespaced))) == 10)
    admin.run("annotate", "node", victim, "nodes.steersman.dev/stopped-")
    until(lambda: len(ready_nodes(admin)) == NODES)


def test_it_goes_on_where_it_was_after_a_crash(tmp_path_factory: pytest.TempPathFactory) -> None:
    with ControlPlane(ephemeral=False, whole=True, nodes=NODES) as plane:
        kubectl = Kubectl(plane, tmp_path_factory.mktemp("home"), "default")
        kubectl.run("create", "deployment", "web", "--image=web", "--replicas=20")
        rolled_out(kubectl, "deployment/web")
        kubectl.run("scale", "deployment", "web", "--replicas=300")
        until(lambda: len(pods(kubectl)) > 60)
        before = {each["metadata"]["uid"]: each["spec"].get("nodeName") for each in pods(kubectl)}
        plane.kill()
        plane.start()
        until(lambda: sum(map(is_ready, pods(kubectl))) == 300)
        after = {each["metadata"]["uid"]: each["spec"]["nodeName"] for each in pods(kubectl)}
        assert len(after) == 300
        assert before.keys() <= after.keys()
        assert all(after[uid] == node for uid, node in before.items() if node)
        addresses = [each["status"]["podIP"] for each in pods(kubectl)]
        assert len(set(addresses)) == 300
        rolled_out(kubectl, "deployment/web")
        kubectl.run("scale", "deployment", "web", "--replicas=0")
        until(lambda: not kubectl.get("pods")["items"])
