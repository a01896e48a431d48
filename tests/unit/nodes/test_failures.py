"""Failures of simulated pods and nodes, and stages of other kinds, against a server on the same loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.nodes.world import STAGE_FILES, Cluster, cluster, ready_since

from steersman.apimachinery.trees import Tree
from steersman.apimachinery.yaml_codec import encode_yaml
from steersman.client import tree
from steersman.client.errors import ApiError
from steersman.client.requests import PatchType
from steersman.nodes.chaos.node_outages import STOPPED_BY
from steersman.nodes.simulation.behavior import UNREADY_AFTER

PODS, NODES = tree("v1", "Pod"), tree("v1", "Node")

# Failures


async def container(world: Cluster, name: str) -> Tree:
    pods = await world.client.get(PODS, name, namespace="default")
    status: Tree = pods["status"]["containerStatuses"][0]
    return status


async def set_image(world: Cluster, image: str) -> None:
    patch = {"spec": {"containers": [{"name": "c", "image": image}]}}
    await world.client.patch(PODS, "p", patch, namespace="default", patch_type=PatchType.STRATEGIC)


async def events_about(world: Cluster, name: str) -> list[tuple[str, str, str]]:
    await world.settle()
    result = await world.client.list_all(tree("v1", "Event"), namespace="default")
    return [
        (item["reason"], item["message"], item["involvedObject"].get("fieldPath", ""))
        for item in result
        if item["involvedObject"]["name"] == name
    ]


async def test_image_pull_backs_off_over_a_restart_of_the_process() -> None:
    async with cluster() as world:
        await world.pod("p", containers=[{"name": "c", "image": "nginx:does-not-exist"}])
        await world.settle(2)
        assert (await container(world, "p"))["state"]["waiting"]["reason"] == "ImagePullBackOff"
        events = await events_about(world, "p")
        assert ("Failed", "Error: ErrImagePull", "spec.containers{c}") in events
        assert ("BackOff", 'Back-off pulling image "nginx:does-not-exist"', "spec.containers{c}") in events
        await world.restart()
        version = (await world.client.get(PODS, "p", namespace="default"))["metadata"]["resourceVersion"]
        await world.settle(3)
        pods = await world.client.get(PODS, "p", namespace="default")
        assert pods["metadata"]["resourceVersion"] == version
        await set_image(world, "nginx")
        await world.settle()
        assert (await container(world, "p"))["ready"] is True


async def test_crash_loop_backs_off_over_a_restart_of_the_process() -> None:
    async with cluster() as world:
        await world.pod("p", containers=[{"name": "c", "image": "i", "args": ["sh", "-c", "sleep 1; exit 3"]}])
        await world.settle(14)
        status = await container(world, "p")
        assert status["restartCount"] == 2
        assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert status["state"]["waiting"]["message"].startswith(
            "back-off 20s restarting failed container=c pod=p_default("
        )
        await world.restart()
        await world.settle(10)
        assert (await container(world, "p"))["restartCount"] == 2
        await world.settle(12)
        assert (await container(world, "p"))["restartCount"] == 3
        (message,) = {message for reason, message, _ in await events_about(world, "p") if reason == "BackOff"}
        assert message.startswith("Back-off restarting failed container c in pod p_default(")


async def test_image_that_cannot_be_pulled_stops_a_running_container() -> None:
    async with cluster() as world:
        await world.pod("p")
        await world.settle()
        await set_image(world, "x:does-not-exist")
        await world.settle(2)
        status = await container(world, "p")
        assert status["state"]["waiting"]["reason"] == "ImagePullBackOff"
        assert status["lastState"]["terminated"]["exitCode"] == 143
        assert await world.phase("p") == "Running"
        await set_image(world, "i")
        await world.settle()
        status = await container(world, "p")
        assert (status["ready"], status["restartCount"]) == (True, 1)


async def test_unready_pod_with_a_readiness_gate_keeps_its_condition() -> None:
    async with cluster() as world:
        gates = [{"conditionType": "example.com/g"}]
        await world.pod("p", readinessGates=gates, annotations={UNREADY_AFTER: "0"})
        await world.settle(5)
        pods = await world.client.get(PODS, "p", namespace="default")
        ready = next(condition for condition in pods["status"]["conditions"] if condition["type"] == "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")


async def test_evicted_pod_fails_and_can_be_deleted() -> None:
    async with cluster() as world:
        await world.pod("p", annotations={"nodes.steersman.dev/evict-after-seconds": "10"})
        await world.settle(11)
        pods = await world.client.get(PODS, "p", namespace="default")
        assert (pods["status"]["phase"], pods["status"]["reason"]) == ("Failed", "Evicted")
        await world.client.delete(PODS, "p", namespace="default")
        await world.settle()
        with pytest.raises(ApiError, match="not found"):
            await world.phase("p")


async def test_chaos_rules_make_pods_crash_and_nodes_stop(tmp_path: Path) -> None:
    file = tmp_path / "chaos.yaml"
    file.write_text(
        "rules:\n"
        "- {failure: crash, after: 5s, exitCode: 9, times: 1, select: {labels: {chaos: 'true'}}}\n"
        "- {name: outage, failure: stop-node, after: 1m, for: 30s}\n"
    )
    async with cluster(chaos=file) as world:
        await world.pod("p")
        await world.client.patch(PODS, "p", {"metadata": {"labels": {"chaos": "true"}}}, namespace="default")
        await world.pod("q")
        await world.settle(8)
        status = await container(world, "p")
        assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 9)
        assert (await container(world, "q"))["restartCount"] == 0
        pods = await world.client.get(PODS, "p", namespace="default")
        assert "annotations" not in pods["metadata"]
        await world.settle(60)
        notes = (await world.client.get(NODES, "node-0"))["metadata"]["annotations"]
        assert (notes["nodes.steersman.dev/stopped"], notes[STOPPED_BY]) == ("true", "outage")
        await world.settle(30)
        assert STOPPED_BY not in (await world.client.get(NODES, "node-0"))["metadata"]["annotations"]
        assert (await container(world, "p"))["restartCount"] == 1


async def test_node_stopped_by_chaos_starts_again_without_rules() -> None:
    async with cluster() as world:
        notes = {"nodes.steersman.dev/stopped": "true", STOPPED_BY: "gone"}
        await world.client.patch(NODES, "node-0", {"metadata": {"annotations": notes}})
        await world.settle()
        left = (await world.client.get(NODES, "node-0"))["metadata"]["annotations"]
        assert not notes.keys() & left.keys()


# Stages of other kinds


SLICES = tree("resource.k8s.io/v1", "ResourceSlice")


async def test_stages_publish_and_repair_resource_slices() -> None:
    async with cluster(f"default,{STAGE_FILES / 'devices.yaml'}") as world:
        assert (await ready_since(world))[0] == "True"
        notes = {"example.com/devices": "3"}
        await world.client.patch(NODES, "node-0", {"metadata": {"annotations": notes}})
        await world.settle(2)
        resource_slice = await world.client.get(SLICES, "node-0-devices")
        assert [device["name"] for device in resource_slice["spec"]["devices"]] == [
            "device000",
            "device001",
            "device002",
        ]
        assert resource_slice["spec"]["devices"][2]["attributes"]["numa"] == {"int": 1}
        node = await world.client.get(NODES, "node-0")
        assert node["metadata"]["annotations"]["example.com/published"] == "3"
        await world.client.patch(NODES, "node-0", {"metadata": {"annotations": {"example.com/devices": "2"}}})
        await world.settle(2)
        resource_slice = await world.client.get(SLICES, "node-0-devices")
        assert (len(resource_slice["spec"]["devices"]), resource_slice["spec"]["pool"]["generation"]) == (2, 2)
        await world.client.patch(SLICES, "node-0-devices", {"spec": {"devices": None}})
        await world.settle(2)
        resource_slice = await world.client.get(SLICES, "node-0-devices")
        assert [device["name"] for device in resource_slice["spec"]["devices"]] == ["device000", "device001"]


def widget_definition() -> Tree:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }  # fmt: skip
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


async def test_stages_of_a_custom_kind_begin_when_it_is_served() -> None:
    async with cluster(f"default,{STAGE_FILES / 'widgets.yaml'}") as world:
        await world.client.create(widget_definition())
        await world.settle(1)
        widgets = await world.client.discover("example.com/v1", "Widget")
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}
        await world.client.create(widget)
        await world.settle(10)
        await world.settle(6)
        obj = await world.client.get(widgets, "w", namespace="default")
        assert obj["status"] == {"phase": "Ready"}
        assert obj["metadata"]["finalizers"] == ["example.com/widget"]
        assert ("Ready", "The widget is ready", "") in await events_about(world, "w")
        await world.client.delete(widgets, "w", namespace="default")
        await world.settle(1)
        with pytest.raises(ApiError, match="not found"):
            await world.client.get(widgets, "w", namespace="default")


async def test_applied_object_without_a_namespace_gets_that_of_the_stage_object(tmp_path: Path) -> None:
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "copy"},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Secret"},
            "selector": {"matchLabels": {"copy": "true"}, "matchExpressions": [{"key": ".data", "operator": "Exists"}]},
            "steps": [
                {"apply": {"template": "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .metadata.name }}}}"}},
                {"patch": {"template": "data: null"}},
            ],
        },
    }
    file = tmp_path / "copy.yaml"
    file.write_bytes(encode_yaml(stage))
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ=="}}
    async with cluster(f"default,{file}") as world:
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        await world.client.create(
            {**secret, "metadata": {"name": "s", "namespace": "other", "labels": {"copy": "true"}}}
        )
        await world.settle(1)
        result = await world.client.list_all(tree("v1", "ConfigMap"))
        assert [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in result] == [("other", "s")]
