"""Events of the simulated kubelets about the life of pods."""

from __future__ import annotations

from tests.unit.nodes.world import PODS, Cluster, cluster

from steersman.client import tree
from steersman.client.requests import PatchType

EVENTS = tree("v1", "Event")
PRESENT = 'Container image "i:1" already present on machine and can be accessed by the pod'


async def kubelet_events(world: Cluster, pod: str) -> list[tuple[str, str, str]]:
    """Return reason, field path and message of the kubelet's events about a pod, in the order of their recording."""
    events = await world.client.list(EVENTS, namespace="default", field_selector=f"involvedObject.name={pod}")
    events = sorted(events, key=lambda event: event["metadata"]["name"])
    assert {(event["source"]["component"], event["source"]["host"]) for event in events} <= {("kubelet", "node-0")}
    return [(event["reason"], event["involvedObject"].get("fieldPath", ""), event["message"]) for event in events]


async def test_containers_of_a_pod_that_starts_and_is_deleted():
    async with cluster() as world:
        init = {"name": "i", "image": "busybox:1"}
        await world.pod("a", containers=[{"name": "c", "image": "i:1"}], initContainers=[init])
        await world.settle(1)
        await world.client.delete(PODS, "a", namespace="default")
        await world.settle(1)
        init_path, path = "spec.initContainers{i}", "spec.containers{c}"
        assert await kubelet_events(world, "a") == [
            ("Pulled", init_path, PRESENT.replace("i:1", "busybox:1")),
            ("Created", init_path, "Container created"),
            ("Started", init_path, "Container started"),
            ("Pulled", path, PRESENT),
            ("Created", path, "Container created"),
            ("Started", path, "Container started"),
            ("Killing", path, "Stopping container c"),
        ]


async def test_image_is_pulled_when_the_policy_asks_for_it():
    async with cluster() as world:
        await world.pod("a", containers=[{"name": "c", "image": "i", "imagePullPolicy": "Always"}])
        await world.settle(1)
        pulled = 'Successfully pulled image "i" in 0s (0s including waiting). Image size: 0 bytes.'
        assert [(reason, message) for reason, _, message in await kubelet_events(world, "a")][:2] == [
            ("Pulling", 'Pulling image "i"'),
            ("Pulled", pulled),
        ]


async def test_new_image_restarts_the_container():
    async with cluster() as world:
        await world.pod("a", containers=[{"name": "c", "image": "i:1"}])
        await world.settle(1)
        patch = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
        await world.client.patch(PODS, "a", patch, namespace="default", patch_type=PatchType.STRATEGIC)
        await world.settle(1)
        events = await world.client.list(EVENTS, namespace="default", field_selector="involvedObject.name=a")
        assert {event["message"]: event["count"] for event in events} == {
            PRESENT: 1,
            "Container c definition changed, will be restarted": 1,
            PRESENT.replace("i:1", "i:2"): 1,
            "Container created": 2,
            "Container started": 2,
        }


async def test_resize_is_reported_when_it_starts_and_completes():
    async with cluster() as world:
        policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
        resources = {"requests": {"memory": "1Gi", "cpu": "1"}, "limits": {"memory": "2Gi"}}
        container = {"name": "c", "image": "i:1", "resizePolicy": policy, "resources": resources}
        await world.pod("a", containers=[container], initContainers=[{"name": "i", "image": "i:1"}])
        await world.settle(1)
        for resized in ({"requests": {"cpu": "2"}}, {"limits": {"memory": "3Gi"}}):
            patch = {"spec": {"containers": [{"name": "c", "resources": resized}]}}
            await world.client.patch(
                PODS, "a", patch, namespace="default", patch_type=PatchType.STRATEGIC, subresource="resize"
            )
            await world.settle(1)
        events = [(reason, message) for reason, _, message in await kubelet_events(world, "a")]
        texts = [
            f'{{"initContainers":[{{"name":"i","resources":{{}}}}],"containers":[{{"name":"c","resources":{{"limits":'
            f'{{"memory":"{limit}"}},"requests":{{"cpu":"2","memory":"1Gi"}}}}}}],"generation":{generation}}}'
            for limit, generation in (("2Gi", 2), ("3Gi", 3))
        ]
        started, completed = "Pod resize started: ", "Pod resize completed: "
        assert events[-5:] == [
            ("ResizeStarted", started + texts[0]),
            ("ResizeCompleted", completed + texts[0]),
            ("ResizeStarted", started + texts[1]),
            ("Killing", "Container c resize requires restart"),
            ("ResizeCompleted", completed + texts[1]),
        ]


async def test_normal_events_are_limited_to_the_rate_of_a_kubelet():
    async with cluster() as world:
        for number in range(40):
            await world.pod(f"p{number}", containers=[{"name": "c", "image": "i:1"}])
        await world.settle(1)
        events = await world.client.list(EVENTS, namespace="default")
        # 100 at once, and 50 a second afterwards
        assert 100 <= len([event for event in events if event["type"] == "Normal"]) < 120


async def test_pods_without_events():
    async with cluster(pod_events=False) as world:
        await world.pod("a", containers=[{"name": "c", "image": "x.invalid/i"}])
        await world.pod("b")
        await world.settle(1)
        assert await kubelet_events(world, "b") == []
        assert {reason for reason, _, _ in await kubelet_events(world, "a")} == {"Failed"}
