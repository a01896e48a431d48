"""The main job, with kubectl: what is applied becomes ready, moves when its node goes, and survives a crash of it all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator

import pytest
from tests.busy_machine import HANG_SECONDS, LONG_HANG_SECONDS
from tests.e2e.conftest import MANIFESTS, Kubectl
from tests.e2e.watching import until, until_one
from tests.waits import is_ready

from steersman.apimachinery.trees import Tree
from steersman.testing import ControlPlane

NODES = 5
ALL_NODES = "/api/v1/nodes"
#: Of the test of a crash.
REPLICAS = 1_000

#: For what takes as long as the machine is busy; nothing here waits for a fixed time.
PATIENCE = f"--timeout={HANG_SECONDS}s"


@pytest.fixture(scope="module")
def whole() -> Iterator[ControlPlane]:
    with ControlPlane(ephemeral=False, whole=True, nodes=NODES) as started:
        yield started


@pytest.fixture(scope="module")
def admin(whole: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    kubectl = Kubectl(whole, tmp_path_factory.mktemp("home"))
    until(whole, ALL_NODES, all_nodes_are_ready)
    return kubectl


@pytest.fixture
def namespaced(admin: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A namespace that goes with its test, as controllers see to it."""
    name = request.node.name.replace("_", "-")[:60].rstrip("-")
    admin.run("create", "namespace", name)
    yield Kubectl(admin.cluster, admin.home, name)
    admin.run("delete", "namespace", name, PATIENCE)


def path(kubectl: Kubectl, resource: str, group_version: str = "") -> str:
    """Return the path of a collection in the namespace."""
    prefix = f"/apis/{group_version}" if group_version else "/api/v1"
    return f"{prefix}/namespaces/{kubectl.namespace}/{resource}"


def all_nodes_are_ready(nodes: list[Tree]) -> bool:
    return sum(map(is_ready, nodes)) == NODES


def staying(pods: list[Tree]) -> list[Tree]:
    """Return the pods without deletionTimestamp."""
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def so_many_are_ready(count: int) -> Callable[[list[Tree]], bool]:
    return lambda pods: sum(map(is_ready, staying(pods))) == count


def pods(kubectl: Kubectl, selector: str = "") -> list[Tree]:
    return staying(kubectl.get("pods", f"--selector={selector}")["items"])


def may_be_disrupted(budget: Tree | None) -> bool:
    return budget is not None and budget.get("status", {}).get("disruptionsAllowed") == 1


def rolled_out(kubectl: Kubectl, *objects: str) -> None:
    for item in objects:
        kubectl.run("rollout", "status", item, PATIENCE)


def test_manifest_of_several_tiers_becomes_ready(admin: Kubectl) -> None:
    admin.run("apply", "-f", str(MANIFESTS / "tiers.yaml"))
    kubectl = Kubectl(admin.cluster, admin.home, "tiers")
    rolled_out(kubectl, "deployment/web", "deployment/cache", "statefulset/database", "daemonset/agent")
    kubectl.run("wait", "--for=condition=complete", "job/seed", PATIENCE)

    until(admin.cluster, path(kubectl, "persistentvolumeclaims"), are_bound)
    assert len({pod["spec"]["nodeName"] for pod in pods(kubectl, "app=database")}) == 3
    assert len({pod["spec"]["nodeName"] for pod in pods(kubectl, "app=agent")}) == NODES
    expected = sorted(pod["status"]["podIP"] for pod in pods(kubectl, "app=web"))
    slices = path(kubectl, "endpointslices?labelSelector=kubernetes.io/service-name=web", "discovery.k8s.io/v1")
    until(admin.cluster, slices, lambda objects: addresses(objects) == expected)
    until_one(admin.cluster, path(kubectl, "poddisruptionbudgets/web", "policy/v1"), may_be_disrupted)
    assert kubectl.get("cronjob", "report")["spec"]["suspend"] is False
    for kind, name in (("ingress", "web"), ("networkpolicy", "database"), ("horizontalpodautoscaler", "cache")):
        assert f"Name:  {name}".split() == kubectl.run("describe", kind, name).splitlines()[0].split()

    kubectl.run("create", "job", "now", "--from=cronjob/report")
    kubectl.run("wait", "--for=condition=complete", "job/now", PATIENCE)
    # The namespace goes first, and kubectl finds the last objects gone with it.
    admin.run("delete", "-f", str(MANIFESTS / "tiers.yaml"), "--ignore-not-found", PATIENCE)
    until(admin.cluster, "/api/v1/persistentvolumes", lambda volumes: not volumes)


def test_deployment_rolls_out_undoes_and_restarts(namespaced: Kubectl) -> None:
    run = namespaced.run
    run("create", "deployment", "web", "--image=web:1", "--replicas=3", "--port=80")
    rolled_out(namespaced, "deployment/web")
    run("set", "image", "deployment/web", "web=web:2")
    rolled_out(namespaced, "deployment/web")
    history = run("rollout", "history", "deployment/web").split()
    assert [word for word in history if word.isdigit()] == ["1", "2"]
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(namespaced, "app=web")} == {"web:2"}
    run("rollout", "undo", "deployment/web")
    rolled_out(namespaced, "deployment/web")
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(namespaced, "app=web")} == {"web:1"}
    before = {pod["metadata"]["uid"] for pod in pods(namespaced, "app=web")}
    run("rollout", "restart", "deployment/web")
    rolled_out(namespaced, "deployment/web")
    after = {pod["metadata"]["uid"] for pod in pods(namespaced, "app=web")}
    assert (len(after), before & after) == (3, set())
    run("rollout", "pause", "deployment/web")
    run("set", "image", "deployment/web", "web=web:3")
    until_one(namespaced.cluster, path(namespaced, "deployments/web", "apps/v1"), is_paused)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(namespaced, "app=web")} == {"web:1"}
    run("rollout", "resume", "deployment/web")
    rolled_out(namespaced, "deployment/web")
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(namespaced, "app=web")} == {"web:3"}

    run("expose", "deployment", "web", "--port=80")
    slices = path(namespaced, "endpointslices?labelSelector=kubernetes.io/service-name=web", "discovery.k8s.io/v1")
    until(
        namespaced.cluster,
        slices,
        lambda objects: sum(len(endpoint_slice.get("endpoints") or ()) for endpoint_slice in objects) == 3,
    )
    run("autoscale", "deployment", "web", "--min=4", "--max=6", "--cpu-percent=50")
    assert namespaced.get("horizontalpodautoscaler", "web")["spec"]["minReplicas"] == 4


def are_bound(claims: list[Tree]) -> bool:
    return [(claim.get("status") or {}).get("phase") for claim in claims] == ["Bound"] * 3


def addresses(slices: list[Tree]) -> list[str]:
    """Return the addresses of all endpoints, sorted."""
    endpoints = [endpoint for endpoint_slice in slices for endpoint in endpoint_slice.get("endpoints") or ()]
    return sorted(address for endpoint in endpoints for address in endpoint["addresses"])


def is_paused(deployment: Tree | None) -> bool:
    assert deployment is not None
    conditions = deployment["status"]["conditions"]
    is_seen = deployment["status"].get("observedGeneration") == deployment["metadata"]["generation"]
    return is_seen and any(condition.get("reason") == "DeploymentPaused" for condition in conditions)


def test_drain_moves_pods_one_by_one(namespaced: Kubectl, admin: Kubectl) -> None:
    namespaced.run("create", "deployment", "web", "--image=web", "--replicas=10")
    namespaced.run("create", "poddisruptionbudget", "web", "--selector=app=web", "--max-unavailable=1")
    rolled_out(namespaced, "deployment/web")
    until_one(admin.cluster, path(namespaced, "poddisruptionbudgets/web", "policy/v1"), may_be_disrupted)
    victim = pods(namespaced)[0]["spec"]["nodeName"]
    admin.run("drain", victim, "--ignore-daemonsets", PATIENCE)
    assert victim not in {pod["spec"].get("nodeName") for pod in pods(namespaced)}
    rolled_out(namespaced, "deployment/web")
    admin.run("uncordon", victim)


def test_pods_of_a_stopped_node_move(namespaced: Kubectl, admin: Kubectl) -> None:
    tolerations = [
        {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
        for taint in ("unreachable", "not-ready")
    ]
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations},
    }
    spec = {"replicas": 10, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    namespaced.run("create", "-f", "-", stdin=json.dumps(deployment))
    rolled_out(namespaced, "deployment/web")
    victim = pods(namespaced)[0]["spec"]["nodeName"]
    admin.run("annotate", "node", victim, "nodes.steersman.dev/stopped=true")
    # The node posts no status for node-monitor-grace-period (50 s).
    seconds = 50 + HANG_SECONDS
    until_one(
        admin.cluster, f"{ALL_NODES}/{victim}", lambda node: node is not None and not is_ready(node), seconds=seconds
    )

    def have_moved(objects: list[Tree]) -> bool:
        stays = any(item["spec"].get("nodeName") == victim for item in staying(objects))
        return not stays and so_many_are_ready(10)(objects)

    until(admin.cluster, path(namespaced, "pods"), have_moved)
    admin.run("annotate", "node", victim, "nodes.steersman.dev/stopped-")
    until(admin.cluster, ALL_NODES, all_nodes_are_ready)


def are_all_ready(deployment: Tree | None) -> bool:
    return deployment is not None and deployment["status"].get("readyReplicas") == REPLICAS


def test_control_plane_continues_after_a_crash(tmp_path_factory: pytest.TempPathFactory) -> None:
    with ControlPlane(ephemeral=False, whole=True, nodes=REPLICAS // 100) as plane:
        kubectl = Kubectl(plane, tmp_path_factory.mktemp("home"), "default")
        kubectl.run("create", "deployment", "web", "--image=web", "--replicas=20")
        rolled_out(kubectl, "deployment/web")
        kubectl.run("scale", "deployment", "web", f"--replicas={REPLICAS}")
        # In the middle: nearly all are still to be made, bound and started.
        before = until(plane, path(kubectl, "pods"), lambda objects: objects if len(objects) > REPLICAS // 10 else None)
        plane.kill()
        plane.start()
        until_one(plane, path(kubectl, "deployments/web", "apps/v1"), are_all_ready, seconds=LONG_HANG_SECONDS)
        result = pods(kubectl)
        after = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in result}
        assert before is not None
        assert len(after) == REPLICAS
        assert {pod["metadata"]["uid"] for pod in before} <= after.keys()
        bound = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in before if pod["spec"].get("nodeName")}
        assert bound.items() <= after.items()
        assert len({pod["status"]["podIP"] for pod in result}) == REPLICAS
        rolled_out(kubectl, "deployment/web")
        kubectl.run("scale", "deployment", "web", "--replicas=0")
        until(plane, path(kubectl, "pods"), lambda left: not left, seconds=LONG_HANG_SECONDS)
