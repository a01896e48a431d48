"""Simulated nodes and pods against a server on the same loop: stages, templates, addresses, registration."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest
from tests.unit.nodes.world import STAGE_FILES, cluster, ready_since

from steersman.apimachinery.trees import Tree
from steersman.asynckit.tasks import Supervisor
from steersman.client import tree
from steersman.client.errors import ApiError
from steersman.nodes.node_object import (
    DIALS_PODS,
    FAKE,
    KubeletAddress,
    NodeTemplate,
    TemplateError,
    new_node,
    new_status,
    read_templates,
    refresh_conditions,
)
from steersman.nodes.options import NodesOptions
from steersman.nodes.pod_addresses import AddressPool, PodAddresses
from steersman.nodes.pod_changes import status_for_spec
from steersman.nodes.pod_stages import STAGE_SETS
from steersman.nodes.pods import PodController
from steersman.nodes.references import Reference, references
from steersman.nodes.simulation.behavior import EXIT_CODE, RUN_SECONDS, UNREADY_AFTER
from steersman.nodes.stages import Delay, Outcome, Stage, StageContext, choose
from steersman.runtime.context import ControllerContext

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AROUND = StageContext(NOW, "172.16.0.1", "10.1.0.7")
PODS, NODES = tree("v1", "Pod"), tree("v1", "Node")


def pod(**spec: Any) -> Tree:
    metadata = {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": 1}
    metadata.update(spec.pop("metadata", {}))
    status = spec.pop("status", {"phase": "Pending"})
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}, "status": status}


def stages_passed(
    obj: Tree, *, stages: str = "default", limit: int = 6, now: datetime = NOW
) -> list[tuple[str, float]]:
    """Return the stages that a pod passes through, with the seconds that each lasts; patches are applied."""
    passed = []
    for _ in range(limit):
        stage = choose(STAGE_SETS[stages], obj, now=now, dice=Random(1))
        if stage is None:
            break
        wait = stage.delay.length_seconds(obj, now=now, dice=Random(1))
        now += timedelta(seconds=wait)
        passed.append((stage.name, wait))
        outcome = stage.transition(obj, AROUND._replace(now=now))
        if outcome.delete:
            break
        merged = {condition["type"]: condition for condition in obj["status"].get("conditions", ())}
        patch = (outcome.patch or {}).get("status", {})
        merged.update((condition["type"], condition) for condition in patch.get("conditions", ()))
        obj["status"] = {**obj["status"], **patch, "conditions": list(merged.values())}
    return passed


# Lives of pods


def test_pod_starts_and_keeps_running() -> None:
    new_pod = pod(initContainers=[{"name": "i", "image": "i"}, {"name": "s", "image": "s", "restartPolicy": "Always"}])
    assert stages_passed(new_pod) == [("pod-ready", 0.0)]
    status = new_pod["status"]
    assert (status["phase"], status["podIP"], status["hostIP"]) == ("Running", "10.1.0.7", "172.16.0.1")
    assert {condition["type"]: condition["status"] for condition in status["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert [
        next(iter(init_container_status["state"])) for init_container_status in status["initContainerStatuses"]
    ] == ["terminated", "running"]


def test_pod_with_host_network_has_the_nodes_address() -> None:
    new_pod = pod(hostNetwork=True)
    stages_passed(new_pod)
    assert new_pod["status"]["podIP"] == "172.16.0.1"


def test_pod_of_a_job_completes() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    new_pod = pod(metadata={"ownerReferences": [owner]}, restartPolicy="Never")
    assert [name for name, _ in stages_passed(new_pod)] == ["pod-ready", "pod-complete"]
    assert new_pod["status"]["phase"] == "Succeeded"
    assert new_pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_pod_runs_until_its_deadline_with_never_end() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    new_pod = pod(metadata={"ownerReferences": [owner]}, activeDeadlineSeconds=30, restartPolicy="Never")
    assert stages_passed(new_pod, stages="never-end") == [("pod-ready", 0.0), ("pod-complete", 30.0)]
    assert (new_pod["status"]["phase"], new_pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize(
    ("policy", "code", "end"),
    [("Never", "0", "Succeeded"), ("Never", "3", "Failed"), ("OnFailure", "0", "Succeeded"), ("OnFailure", "3", "Running"), ("Always", "0", "Running")],
)  # fmt: skip
def test_restart_policy_decides_on_restarts(policy: str, code: str, end: str) -> None:
    notes = {RUN_SECONDS: "5", EXIT_CODE: code}
    new_pod = pod(metadata={"annotations": notes}, restartPolicy=policy)
    assert stages_passed(new_pod, limit=2) == [("pod-ready", 0.0), ("pod-containers", 5.0)]
    assert new_pod["status"]["phase"] == end
    assert new_pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == int(code)
    stages_passed(new_pod, limit=1, now=NOW + timedelta(seconds=5))
    assert new_pod["status"]["containerStatuses"][0]["restartCount"] == int(end == "Running")


def test_readiness_gate_delays_readiness() -> None:
    new_pod = pod(readinessGates=[{"conditionType": "g"}])
    stages_passed(new_pod)
    ready = next(condition for condition in new_pod["status"]["conditions"] if condition["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ReadinessGatesNotReady")
    new_pod["status"]["conditions"].append({"type": "g", "status": "True"})
    assert [name for name, _ in stages_passed(new_pod)] == ["pod-readiness-gates"]
    assert (
        next(condition for condition in new_pod["status"]["conditions"] if condition["type"] == "Ready")["status"]
        == "True"
    )


def test_pod_is_ready_again_after_its_node_was_lost() -> None:
    new_pod = pod()
    stages_passed(new_pod)
    ready = next(condition for condition in new_pod["status"]["conditions"] if condition["type"] == "Ready")
    ready["status"] = "False"  # as the node lifecycle controller does
    assert [name for name, _ in stages_passed(new_pod)] == ["pod-readiness-gates"]
    assert (
        next(condition for condition in new_pod["status"]["conditions"] if condition["type"] == "Ready")["status"]
        == "True"
    )


def test_pod_stays_unready_while_its_containers_are() -> None:
    new_pod = pod()
    stages_passed(new_pod)
    for condition in new_pod["status"]["conditions"]:
        if condition["type"] in {"Ready", "ContainersReady"}:
            condition["status"] = "False"
    assert stages_passed(new_pod) == []


def changed(obj: Tree, **spec: Any) -> list[tuple[str, float]]:
    """Return the stages of a running pod whose spec is changed an hour later."""
    obj["spec"].update(spec)
    obj["metadata"]["generation"] += 1
    return stages_passed(obj, now=NOW + timedelta(hours=1))


def test_new_image_restarts_its_container() -> None:
    new_pod = pod(containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "i"}])
    stages_passed(new_pod)
    stages = changed(new_pod, containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "j"}])
    assert stages == [("pod-spec-changed", 0.0)]
    same, new = new_pod["status"]["containerStatuses"]
    assert (same["restartCount"], same["state"]) == (0, {"running": {"startedAt": "2026-01-02T03:04:05Z"}})
    assert (new["restartCount"], new["image"], new["containerID"]) == (1, "j", "simulated://u/d/1")
    assert new["state"] == {"running": {"startedAt": "2026-01-02T04:04:05Z"}}
    last = new["lastState"]["terminated"]
    assert (last["containerID"], last["exitCode"], last["reason"]) == ("simulated://u/d/0", 143, "Error")
    assert new_pod["status"]["observedGeneration"] == 2


def test_conditions_name_the_generation_of_a_new_spec() -> None:
    new_pod = pod(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}])
    stages_passed(new_pod)
    changed(new_pod, containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}])
    conditions = new_pod["status"]["conditions"]
    assert {condition["observedGeneration"] for condition in conditions} == {2}
    assert {condition["lastTransitionTime"] for condition in conditions} == {"2026-01-02T03:04:05Z"}


@pytest.mark.parametrize(("resource", "restarts"), [("cpu", 0), ("memory", 1)])
def test_resize_policy_decides_on_restarts(resource: str, restarts: int) -> None:
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    requests = {"cpu": "1", "memory": "1Gi"}
    container = {"name": "c", "image": "i", "resizePolicy": policy, "resources": {"requests": requests}}
    new_pod = pod(containers=[container])
    stages_passed(new_pod)
    more = {"requests": {**requests, resource: "2"}}
    changed(new_pod, containers=[{**container, "resources": more}])
    (status,) = new_pod["status"]["containerStatuses"]
    assert (status["resources"], status["allocatedResources"]) == (more, more["requests"])
    assert status["restartCount"] == restarts


def test_pod_whose_status_has_no_resources_is_not_resized() -> None:
    new_pod = pod()
    stages_passed(new_pod)
    del new_pod["status"]["containerStatuses"][0]["resources"]  # written by another component
    new_pod["metadata"]["generation"] += 1
    status, events = status_for_spec(new_pod, AROUND)
    assert (status["containerStatuses"][0]["resources"], events) == ({}, [])


def test_ephemeral_containers_start_once_and_end_with_the_pod() -> None:
    new_pod = pod()
    stages_passed(new_pod)
    changed(new_pod, ephemeralContainers=[{"name": "e", "image": "busybox"}])
    (status,) = new_pod["status"]["ephemeralContainerStatuses"]
    assert (status["ready"], status["state"]) == (False, {"running": {"startedAt": "2026-01-02T04:04:05Z"}})
    changed(new_pod, ephemeralContainers=[{"name": "e", "image": "busybox"}, {"name": "f", "image": "busybox"}])
    assert new_pod["status"]["ephemeralContainerStatuses"][0] == status
    new_pod["metadata"]["deletionTimestamp"] = "2026-01-02T05:04:05Z"
    assert [name for name, _ in stages_passed(new_pod)] == ["pod-stop", "pod-delete"]
    assert all(
        "terminated" in ephemeral_container_status["state"]
        for ephemeral_container_status in new_pod["status"]["ephemeralContainerStatuses"]
    )


def test_status_without_generation_is_unchanged() -> None:
    new_pod = pod(status={"phase": "Running"}, metadata={"generation": 7})
    assert stages_passed(new_pod) == []


def test_deleted_pod_terminates_and_is_removed() -> None:
    new_pod = pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}, status={"phase": "Running"})
    assert [name for name, _ in stages_passed(new_pod)] == ["pod-stop", "pod-delete"]


def test_deleted_pod_stops_when_its_pre_stop_hook_has_ended() -> None:
    hook = {"preStop": {"sleep": {"seconds": 7}}}
    new_pod = pod(containers=[{"name": "c", "image": "i", "lifecycle": hook}])
    stages_passed(new_pod)
    deletion = {"deletionTimestamp": "2026-01-02T03:04:35Z", "deletionGracePeriodSeconds": 30}
    new_pod["metadata"] |= deletion
    assert stages_passed(new_pod) == [("pod-stop", 7.0), ("pod-delete", 0.0)]
    assert new_pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] == "2026-01-02T03:04:12Z"


def test_unchanged_conditions_keep_their_transition_time() -> None:
    new_pod = pod(metadata={"annotations": {UNREADY_AFTER: "3600"}})
    stages_passed(new_pod, limit=2)
    times = {condition["type"]: condition["lastTransitionTime"] for condition in new_pod["status"]["conditions"]}
    assert times.pop("Ready") == times.pop("ContainersReady") == "2026-01-02T04:04:05Z"
    assert times == dict.fromkeys(("PodReadyToStartContainers", "Initialized", "PodScheduled"), "2026-01-02T03:04:05Z")


# Stages


def test_stages_are_chosen_by_weight() -> None:
    def stage(name: str, weight: int) -> Stage:
        return Stage(name, lambda *_: True, lambda *_: Outcome(), weight=weight)

    dice = Random(3)
    stages = [stage("never", 0), stage("often", 9), stage("seldom", 1)]
    chosen = [choose(stages, {}, now=NOW, dice=dice) for _ in range(500)]
    names = [item.name for item in chosen if item is not None]
    assert names.count("never") == 0
    assert 420 < names.count("often") < 480


def test_delays_are_within_their_bounds() -> None:
    dice = Random(1)
    lengths = [Delay(2.0, 5.0).length_seconds({}, now=NOW, dice=dice) for _ in range(50)]
    assert all(2.0 <= length <= 5.0 for length in lengths)
    assert Delay(until=lambda *_: NOW - timedelta(days=1)).length_seconds({}, now=NOW, dice=dice) == 0.0


# Parts


def test_optional_references_are_not_required() -> None:
    new_pod = pod(
        volumes=[
            {"name": "a", "secret": {"secretName": "s"}},
            {"name": "b", "configMap": {"name": "m", "optional": True}},
            {"name": "c", "projected": {"sources": [{"configMap": {"name": "n"}}]}},
        ],
        containers=[
            {
                "name": "c",
                "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "t", "key": "k"}}}],
                "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in "abc"],
            }
        ],
    )
    assert list(references(new_pod)) == [
        Reference("Secret", "s", volume="a"),
        Reference("ConfigMap", "n", volume="c"),
        Reference("Secret", "t", "k", container="c"),
    ]


def test_addresses_are_unique_and_reused_late() -> None:
    pool = AddressPool("10.0.0.0/29")
    taken = [pool.take() for _ in range(6)]
    assert len(set(taken)) == 6
    assert pool.take() == ""
    pool.free(taken[2])
    assert pool.take() == taken[2]


def test_pod_keeps_its_address_over_a_restart() -> None:
    addresses = PodAddresses()
    assert addresses.of("a", "10.0.0.0/29", current="10.0.0.1") == "10.0.0.1"
    assert addresses.of("b", "10.0.0.0/29") == "10.0.0.2"
    addresses.forget("a")
    assert addresses.of("b", "10.0.0.0/29") == "10.0.0.2"


def test_nodes_declare_features_unless_a_user_has_set_them() -> None:
    declared = new_node(NodeTemplate(), "n", ip="172.16.0.1", now=NOW)["status"]["declaredFeatures"]
    assert "InPlacePodVerticalScalingInitContainers" in declared
    assert declared == sorted(declared)  # required by the API
    existing = {"declaredFeatures": ["Mine"]}
    assert new_status(NodeTemplate(), "n", ip="172.16.0.1", now=NOW, previous=existing)["declaredFeatures"] == ["Mine"]


def test_node_status_set_by_a_user_is_preserved() -> None:
    pressed = [{"type": "MemoryPressure", "status": "True", "reason": "Mine"}, {"type": "Ready", "status": "Unknown"}]
    by_key = {
        refresh_condition["type"]: refresh_condition for refresh_condition in refresh_conditions(pressed, now=NOW)
    }
    assert by_key["MemoryPressure"]["status"] == "True"
    assert by_key["Ready"]["status"] == "True"


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"capacity": {"cpu": "many"}}, "capacity.cpu"),
        ({"capacity": {"cpu": "-1"}}, 'capacity.cpu: "-1": must be greater than or equal to 0'),
        ({"size": "large"}, "size: unknown field, expected one of name, count, capacity"),
        ({"nodes": [{"count": "two"}]}, "nodes[0].count: expected `int | null`, got `str`"),
        ({"nodes": [{}, {"count": -1}]}, "nodes[1].count: -1: must be greater than or equal to 0"),
        ({"nodes": 3}, "nodes: expected a list of templates"),
        ("text", "document: expected `object`, got `str`"),
        ({"name": "A_b"}, 'name: "A_b": a lowercase RFC 1123 subdomain'),
        ({"labels": {"a b": ""}}, 'labels.a b: "": name part must consist of'),
        ({"taints": [{"key": "", "effect": "NoSchedule"}]}, 'taints[0].key: "": name part must be non-empty'),
        ({"taints": [{"key": "a", "effect": "Never"}]}, 'taints[0].effect: "Never": expected one of NoSchedule'),
    ],
)
def test_invalid_node_template_is_rejected_with_its_field(document: Any, fault: str) -> None:
    with pytest.raises(TemplateError) as refused:
        read_templates(document)
    assert fault in str(refused.value)


def test_templates_define_count_and_names(tmp_path: Any) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text("nodes:\n- {name: 'big-{n}', count: 2, capacity: {cpu: '64'}}\n- {name: small}\n")
    options = NodesOptions(nodes=1, node_template=file)
    assert list(options.templates()) == ["big-0", "big-1", "small-0"]
    node = new_node(options.templates()["big-1"], "big-1", ip="1.2.3.4", now=NOW)
    assert node["status"]["allocatable"]["cpu"] == "64"
    with pytest.raises(TemplateError, match='--stages: "x" is neither a file'):
        msgspec.structs.replace(options, stages="x").pod_stages()
    file.write_text("nodes: [{name: twin}, {name: twin}]")
    with pytest.raises(TemplateError, match=f'--node-template: {file}: two nodes would have the name "twin-0"'):
        options.templates()


# Against a server


async def test_node_is_registered_with_heartbeats_and_runs_pods() -> None:
    async with cluster() as world:
        node = await world.client.get(NODES, "node-0")
        assert {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}["Ready"] == "True"
        leases = tree("coordination.k8s.io/v1", "Lease")
        first = await world.client.get(leases, "node-0", namespace="kube-node-lease")
        await world.pod("p")
        await world.settle(11)
        assert await world.phase("p") == "Running"
        second = await world.client.get(leases, "node-0", namespace="kube-node-lease")
        assert second["spec"]["renewTime"] > first["spec"]["renewTime"]


async def test_nodes_have_kubelet_endpoint_and_dials_pods_annotation() -> None:
    kubelet = KubeletAddress("127.0.0.1", 4711)
    users = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "users", "annotations": {FAKE: "fake"}}}
    async with cluster(kubelet=kubelet) as world:
        await world.client.create(users)
        await world.settle()
        await world.client.patch(NODES, "node-0", {"metadata": {"annotations": {DIALS_PODS: None}}})
        await world.settle()
        for name in ("node-0", "users"):
            node = await world.client.get(NODES, name)
            assert kubelet.is_set_on(node)
            assert node["metadata"]["annotations"] == {FAKE: "fake", DIALS_PODS: "true"}
            types = [address["type"] for address in node["status"]["addresses"]]
            assert sorted(types) == ["Hostname", "InternalIP"]


async def test_pod_waits_for_its_config_map() -> None:
    async with cluster() as world:
        volumes = [{"name": "v", "configMap": {"name": "m"}}]
        mounts = [{"name": "v", "mountPath": "/v"}]
        await world.pod("p", volumes=volumes, containers=[{"name": "c", "image": "i", "volumeMounts": mounts}])
        await world.settle()
        obj = await world.client.get(PODS, "p", namespace="default")
        assert obj["status"]["phase"] == "Pending"
        assert obj["status"]["containerStatuses"][0]["state"]["waiting"] == {"reason": "ContainerCreating"}
        await world.client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}}
        )
        await world.settle()
        assert await world.phase("p") == "Running"


async def test_container_runs_for_its_run_seconds() -> None:
    async with cluster() as world:
        await world.pod("p", annotations={RUN_SECONDS: "30", EXIT_CODE: "2"}, restartPolicy="Never")
        await world.settle(20)
        assert await world.phase("p") == "Running"
        await world.settle(15)
        assert await world.phase("p") == "Failed"


async def test_deleted_pod_is_removed() -> None:
    async with cluster() as world:
        await world.pod("p")
        await world.settle()
        await world.client.delete(PODS, "p", namespace="default")
        await world.settle()
        with pytest.raises(ApiError, match="not found"):
            await world.phase("p")


async def test_stopped_node_is_inactive_until_started() -> None:
    async with cluster() as world:
        note = {"metadata": {"annotations": {"nodes.steersman.dev/stopped": "true"}}}
        await world.client.patch(NODES, "node-0", note)
        await world.settle()
        await world.pod("p")
        await world.settle(30)
        assert await world.phase("p") == "Pending"
        back = {"metadata": {"annotations": {"nodes.steersman.dev/stopped": None}}}
        await world.client.patch(NODES, "node-0", back)
        await world.settle()
        assert await world.phase("p") == "Running"


async def test_nodes_and_pods_run_the_stages_of_files() -> None:
    files = f"{STAGE_FILES / 'node.yaml'},{STAGE_FILES / 'pod-general.yaml'}"
    async with cluster(files) as world:
        await world.settle()
        first = await ready_since(world)
        await world.pod("p")
        await world.settle()
        assert await world.phase("p") == "Pending"
        await world.settle(30)
        second = await ready_since(world)
        assert (first[0], second[0]) == ("True", "True")
        assert second[1] > first[1]
        await world.settle(30)
        assert (await ready_since(world))[1] > second[1]


async def test_pod_of_a_stage_file_runs_and_is_deleted() -> None:
    async with cluster(str(STAGE_FILES / "pod-fast.yaml")) as world:
        await world.pod("p")
        await world.settle()
        assert await world.phase("p") == "Running"
        await world.client.delete(PODS, "p", namespace="default")
        await world.settle()
        with pytest.raises(ApiError, match="not found"):
            await world.phase("p")


async def test_addresses_in_use_are_not_allocated_after_a_restart() -> None:
    async with cluster(has_pods=False) as world:
        for name, status in (("old", {"phase": "Running", "podIP": "10.128.0.1"}), ("new", {})):
            await world.pod(name)
            await world.client.patch(PODS, name, {"status": status}, namespace="default", subresource="status")
        context = ControllerContext(world.client, dice=Random(1))
        # The existing pod is managed by another controller that shares the addresses.
        controller = PodController(
            context,
            STAGE_SETS["default"],
            is_managed_elsewhere=lambda pod, node: pod["metadata"]["name"] == "old",
            addresses=PodAddresses(),
        )
        tasks = Supervisor("restarted")
        context.informers.start()
        tasks.start("pods", controller.run())
        await world.settle()
        new = await world.client.get(PODS, "new", namespace="default")
        assert new["status"]["podIP"] == "10.128.0.2"
        await tasks.close()
        await context.informers.close()
