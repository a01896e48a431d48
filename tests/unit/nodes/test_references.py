"""Pods whose Secrets and ConfigMaps, or keys of them, are missing, as a kubelet reports them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.nodes.world import PODS, Cluster, cluster

from steersman.apimachinery.trees import Tree
from steersman.client import tree

EVENTS = tree("v1", "Event")
VOLUMES = [
    {"name": "m", "configMap": {"name": "m"}},
    {"name": "all", "projected": {"sources": [{"secret": {"name": "s"}}]}},
]


def container(name: str, **spec: Any) -> Tree:
    return {"name": name, "image": "i", "imagePullPolicy": "IfNotPresent", **spec}


def mounting(name: str, *volumes: str, **spec: Any) -> Tree:
    mounts = [{"name": volume, "mountPath": f"/{volume}"} for volume in volumes]
    return container(name, volumeMounts=mounts, **spec)


def env(config_map: str) -> list[Tree]:
    return [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": config_map, "key": "k"}}}]


async def status_of(world: Cluster) -> Tree:
    pod = await world.client.get(PODS, "p", namespace="default")
    return dict(pod["status"])


def states(status: Tree, field: str = "containerStatuses") -> dict[str, Any]:
    """Return the waiting state, or the name of the state, of each container."""
    states_by_name = {container_status["name"]: container_status["state"] for container_status in status[field]}
    return {name: state.get("waiting") or next(iter(state)) for name, state in states_by_name.items()}


def conditions(status: Tree) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


async def warnings(world: Cluster) -> list[tuple[str, str, str]]:
    events = await world.client.list(EVENTS, namespace="default", field_selector="type=Warning")
    return sorted((event["reason"], event["involvedObject"].get("fieldPath", ""), event["message"]) for event in events)


async def create(world: Cluster, kind: str, name: str, *, key: str = "k") -> None:
    metadata = {"name": name, "namespace": "default"}
    await world.client.create({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {key: "dg=="}})
    await world.settle()


async def add_key(world: Cluster, kind: str, name: str, field: str = "data") -> None:
    await world.client.patch(tree("v1", kind), name, {field: {"k": "dg=="}}, namespace="default")
    await world.settle()


async def test_pod_without_its_volumes_has_no_sandbox() -> None:
    async with cluster() as world:
        await world.pod("p", containers=[mounting("c", "m", "all", env=env("e"))], volumes=VOLUMES)
        await world.settle()
        status = await status_of(world)
        assert states(status) == {"c": {"reason": "ContainerCreating"}}
        assert "podIP" not in status
        assert conditions(status)["PodReadyToStartContainers"] == "False"
        assert conditions(status)["Initialized"] == "True"
        assert await warnings(world) == [
            ("FailedMount", "", 'MountVolume.SetUp failed for volume "all" : secret "s" not found'),
            ("FailedMount", "", 'MountVolume.SetUp failed for volume "m" : configmap "m" not found'),
        ]
        await create(world, "ConfigMap", "m")
        await create(world, "ConfigMap", "e")
        assert states(await status_of(world)) == {"c": {"reason": "ContainerCreating"}}
        await create(world, "Secret", "s")
        assert states(await status_of(world)) == {"c": "running"}
        assert len(await warnings(world)) == 2


async def test_pod_without_its_volumes_has_not_started_init_containers() -> None:
    async with cluster() as world:
        await world.pod("p", containers=[container("c")], initContainers=[mounting("i", "m", "all")], volumes=VOLUMES)
        await world.settle()
        status = await status_of(world)
        initializing = {"reason": "PodInitializing"}
        assert (states(status), states(status, "initContainerStatuses")) == ({"c": initializing}, {"i": initializing})
        initialized = next(condition for condition in status["conditions"] if condition["type"] == "Initialized")
        assert (initialized["status"], initialized["message"]) == ("False", "containers with incomplete status: [i]")


async def test_container_without_its_environment_waits_in_a_sandbox_beside_running_ones() -> None:
    async with cluster() as world:
        containers = [container("a", env=[*env("one"), *env("two")]), container("b")]
        await world.pod("p", containers=containers)
        await world.settle()
        status = await status_of(world)
        error = {"reason": "CreateContainerConfigError", "message": 'configmap "one" not found'}
        assert states(status) == {"a": error, "b": "running"}
        assert status["phase"] == "Pending"
        assert status["podIP"]
        assert conditions(status)["PodReadyToStartContainers"] == "True"
        first = ("Failed", "spec.containers{a}", 'Error: configmap "one" not found')
        assert await warnings(world) == [first]
        pulled = await world.client.list(EVENTS, namespace="default", field_selector="reason=Pulled")
        assert [event["count"] for event in pulled] == [1, 1]
        await create(world, "ConfigMap", "one")
        assert states(await status_of(world))["a"]["message"] == 'configmap "two" not found'
        assert await warnings(world) == [first, ("Failed", "spec.containers{a}", 'Error: configmap "two" not found')]
        await create(world, "ConfigMap", "two")
        assert states(await status_of(world)) == {"a": "running", "b": "running"}
        assert await world.phase("p") == "Running"


async def test_init_container_runs_before_a_container_without_its_environment() -> None:
    async with cluster() as world:
        init = container("i", command=["sleep", "5"])
        await world.pod("p", containers=[container("c", env=env("m"))], initContainers=[init])
        await world.settle()
        status = await status_of(world)
        assert states(status, "initContainerStatuses") == {"i": "running"}
        assert states(status) == {"c": {"reason": "PodInitializing"}}
        await world.settle(6)
        status = await status_of(world)
        assert states(status, "initContainerStatuses") == {"i": "terminated"}
        assert states(status)["c"]["reason"] == "CreateContainerConfigError"


async def test_container_ends_in_time_beside_one_without_its_environment() -> None:
    async with cluster() as world:
        containers = [container("a", env=env("m")), container("b", command=["sleep", "20"])]
        await world.pod("p", containers=containers, restartPolicy="Never")
        await world.settle(21)
        assert states(await status_of(world))["b"] == "terminated"


async def test_container_without_its_environment_is_not_restarted() -> None:
    async with cluster() as world:
        await create(world, "ConfigMap", "m")
        await world.pod("p", containers=[container("c", env=env("m"), command=["sleep", "20"])])
        await world.settle(10)
        await world.client.delete(tree("v1", "ConfigMap"), "m", namespace="default")
        await world.settle(11)
        status = await status_of(world)
        assert states(status)["c"]["reason"] == "CreateContainerConfigError"
        assert status["phase"] == "Running"
        await create(world, "ConfigMap", "m")
        status = await status_of(world)
        assert (states(status)["c"], status["containerStatuses"][0]["restartCount"]) == ("running", 1)


async def test_other_stages_wait_for_the_configuration(tmp_path: Path) -> None:
    stage = tmp_path / "stage.yaml"
    stage.write_text(
        """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: run}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: NotIn, values: [Running]}]}
  next: {statusTemplate: "phase: Running"}
"""
    )
    async with cluster(str(stage)) as world:
        await world.pod("p", containers=[container("c", env=env("m"))])
        await world.settle()
        assert states(await status_of(world))["c"]["reason"] == "CreateContainerConfigError"
        await create(world, "ConfigMap", "m")
        assert await world.phase("p") == "Running"


async def test_missing_pull_secrets_are_reported_and_do_not_delay_the_pod() -> None:
    async with cluster() as world:
        await create(world, "Secret", "s")
        await world.pod("p", containers=[container("c")], imagePullSecrets=[{"name": name} for name in ("s", "t", "u")])
        await world.settle()
        assert await world.phase("p") == "Running"
        text = "Unable to retrieve some image pull secrets (t, u); attempting to pull the image may not succeed."
        assert await warnings(world) == [("FailedToRetrieveImagePullSecret", "", text)]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
async def test_container_waits_for_the_key_of_a_variable(kind: str) -> None:
    async with cluster() as world:
        await create(world, kind, "o", key="other")
        value = {"configMapKeyRef" if kind == "ConfigMap" else "secretKeyRef": {"name": "o", "key": "k"}}
        await world.pod("p", containers=[container("c", env=[{"name": "E", "valueFrom": value}])])
        await world.settle()
        message = f"couldn't find key k in {kind} default/o"
        assert states(await status_of(world)) == {"c": {"reason": "CreateContainerConfigError", "message": message}}
        assert await warnings(world) == [("Failed", "spec.containers{c}", f"Error: {message}")]
        await add_key(world, kind, "o")
        assert states(await status_of(world)) == {"c": "running"}


async def test_pod_waits_for_the_keys_of_its_volumes() -> None:
    async with cluster() as world:
        await create(world, "ConfigMap", "m", key="other")
        await create(world, "Secret", "s", key="other")
        items = [{"key": "k", "path": "p"}]
        volumes = [
            {"name": "m", "configMap": {"name": "m", "items": items}},
            {"name": "all", "projected": {"sources": [{"secret": {"name": "s", "items": items}}]}},
        ]
        await world.pod("p", containers=[mounting("c", "m", "all")], volumes=volumes)
        await world.settle()
        assert states(await status_of(world)) == {"c": {"reason": "ContainerCreating"}}
        assert await warnings(world) == [
            ("FailedMount", "", 'MountVolume.SetUp failed for volume "all" : references non-existent secret key: k'),
            (
                "FailedMount",
                "",
                'MountVolume.SetUp failed for volume "m" : configmap references non-existent config key: k',
            ),
        ]
        await add_key(world, "ConfigMap", "m", "binaryData")
        await add_key(world, "Secret", "s")
        assert states(await status_of(world)) == {"c": "running"}


async def test_volume_with_several_items_of_a_missing_object_has_one_error() -> None:
    async with cluster() as world:
        items = [{"key": key, "path": key} for key in ("a", "b")]
        volumes = [{"name": "m", "configMap": {"name": "m", "items": items}}]
        await world.pod("p", containers=[mounting("c", "m")], volumes=volumes)
        await world.settle()
        assert await warnings(world) == [
            ("FailedMount", "", 'MountVolume.SetUp failed for volume "m" : configmap "m" not found')
        ]


async def test_optional_keys_are_not_awaited() -> None:
    async with cluster() as world:
        await create(world, "ConfigMap", "m", key="other")
        source = {"name": "m", "key": "k", "optional": True}
        volume = {"name": "m", "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}], "optional": True}}
        variable = {"name": "E", "valueFrom": {"configMapKeyRef": source}}
        await world.pod("p", containers=[mounting("c", "m", env=[variable])], volumes=[volume])
        await world.settle()
        assert await world.phase("p") == "Running"


async def test_volumes_that_no_container_mounts_are_ignored() -> None:
    async with cluster() as world:
        await world.pod("p", containers=[container("c")], volumes=VOLUMES)
        await world.settle()
        assert await world.phase("p") == "Running"
        assert await warnings(world) == []
