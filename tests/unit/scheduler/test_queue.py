"""The scheduling queue: order, backoff, and the events and queueing hints that requeue pods."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scheduler.world import World, claim, mounting, namespace, near, node, pod, required, volume

from steersman.apimachinery.trees import Tree
from steersman.scheduler.core import AssumedPod, UnschedulablePod
from steersman.scheduler.hints import claim_queueing_hint
from steersman.scheduler.pod_info import PodInfo
from steersman.scheduler.queue import ClusterEvent, SchedulingQueue, event_label

_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_SPREAD |= {"labelSelector": {"matchLabels": {"app": "x"}}}


def queue() -> SchedulingQueue:
    return SchedulingQueue(
        is_gated=lambda _: False, backoff_initial_seconds=1, backoff_max_seconds=10, wait_max_seconds=300
    )


def popped(pending: SchedulingQueue, now: float) -> str | None:
    result = pending.pop(now)
    return None if result is None else result.pod.name


def test_queue_pops_by_priority_then_age() -> None:
    pending = queue()
    for name, priority, now in (("a", 0, 1), ("b", 5, 2), ("c", 0, 0), ("d", 5, 3)):
        pending.add(PodInfo(pod(name, priority=priority)), now)
    assert [popped(pending, 9) for _ in range(5)] == ["b", "d", "c", "a", None]


def test_queue_backoff_doubles_up_to_its_maximum() -> None:
    pending = queue()
    pending.add(PodInfo(pod("p")), 0)
    fail_to_schedule, now = [], 0.0
    for _ in range(6):
        queued = pending.pop(now)
        assert queued is not None
        pending.add_unschedulable(queued, frozenset(), now)
        assert pending.pop(queued.due - 0.01) is None
        fail_to_schedule.append(queued.due - now)
        now = queued.due
    assert fail_to_schedule == [1, 2, 4, 8, 10, 10]


def test_queue_pops_from_backoff_when_no_pod_is_active() -> None:
    pending = queue()
    pending.add(PodInfo(pod("p")), 0)
    first = pending.pop(0)
    assert first is not None
    pending.add_unschedulable(first, frozenset({"NodeName"}), 0)
    assert pending.pop(0.1) is None  # no event has occurred
    pending.activate([first.pod.uid], 0.1)
    pending.add(PodInfo(pod("q")), 0.1)
    assert [popped(pending, 0.1) for _ in range(3)] == ["q", "p", None]


def test_queue_counts_pods_that_enter_each_queue_by_event() -> None:
    gated = {"g"}
    pending = SchedulingQueue(
        is_gated=lambda info: info.name in gated,
        backoff_initial_seconds=1,
        backoff_max_seconds=10,
        wait_max_seconds=300,
    )
    for name in ("p", "g"):
        pending.add(PodInfo(pod(name)), 0)
    gated.clear()
    pending.recheck_gated(ClusterEvent.DEVICES)
    first = pending.pop(0)
    assert first is not None
    pending.add_unschedulable(first, frozenset({"NodeName"}), 0)
    pending.on_cluster_event(ClusterEvent.NODE_ADDED | ClusterEvent.NODE_CHANGED, 0.5)
    pending.flush(1)
    assert pending.incoming == {
        ("UnschedulablePodAdd", "active"): 1,
        ("UnschedulablePodAdd", "unschedulable"): 1,
        ("ResourceClaimUpdate", "active"): 1,
        ("ScheduleAttemptFailure", "unschedulable"): 1,
        ("NodeAdd", "backoff"): 1,
        ("BackoffComplete", "active"): 1,
    }


@pytest.mark.parametrize("event", list(ClusterEvent))
def test_each_cluster_event_has_a_label(event: ClusterEvent) -> None:
    assert event_label(event).endswith(("Add", "Update", "Delete"))


def test_queue_requeues_pods_after_the_maximum_unschedulable_time() -> None:
    pending = queue()
    pending.add(PodInfo(pod("p")), 0)
    queued = pending.pop(0)
    assert queued is not None
    pending.add_unschedulable(queued, frozenset({"NodeName"}), 0)
    pending.flush_unschedulable(299)
    assert pending.pop(299) is None
    pending.flush_unschedulable(300)
    assert popped(pending, 300) == "p"


def test_queue_requeues_unschedulable_pod_on_registered_event_after_backoff() -> None:
    pending = queue()
    pending.add(PodInfo(pod("p")), 0)
    queued = pending.pop(0)
    assert queued is not None
    pending.add_unschedulable(queued, frozenset({"NodeResourcesFit"}), 0)
    pending.on_cluster_event(ClusterEvent.VOLUME, 0.5)
    assert pending.next_backoff_end is None
    pending.on_cluster_event(ClusterEvent.POD_LEFT, 0.5)
    assert pending.next_backoff_end == 1.0
    assert pending.pop(1.0) is queued


def test_queue_ignores_failures_of_removed_pods() -> None:
    pending = queue()
    pending.add(PodInfo(pod("p")), 0)
    queued = pending.pop(0)
    assert queued is not None
    pending.remove(queued.pod.uid)
    pending.add_unschedulable(queued, frozenset(), 0)
    assert len(pending) == 0
    assert pending.pop(99) is None


@given(st.lists(st.tuples(st.sampled_from(["add", "pop", "fail", "help", "remove"]), st.integers(0, 5)), max_size=60))
def test_queue_never_loses_or_duplicates_a_pod(operations: list[tuple[str, int]]) -> None:
    pods = [PodInfo(pod(f"p{number}", priority=number % 3)) for number in range(6)]
    pending, keys, flying, now = queue(), set[str](), dict[str, Any](), 0.0
    for operation, number in operations:
        now += 0.7
        uid = pods[number].uid
        match operation:
            case "add":
                pending.add(pods[number], now)
                keys.add(uid)
            case "pop":
                queued = pending.pop(now)
                popped = {queued.pod.uid: queued} if queued is not None else {}
                assert not popped.keys() & flying.keys()
                flying.update(popped)
            case "fail":
                queued = flying.pop(uid, None)
                _ = queued and pending.add_unschedulable(
                    queued, frozenset({"NodeName"}) if number % 2 else frozenset(), now
                )
            case "help":
                pending.on_cluster_event(ClusterEvent.NODE_ADDED, now)
            case _:
                pending.remove(uid)
                keys.discard(uid)
                flying.pop(uid, None)
    assert len(pending) == len(keys)
    pending.on_cluster_event(ClusterEvent.NODE_ADDED, now)
    pending.flush(now + 100)
    rest = {queued.pod.uid for queued in iter(lambda: pending.pop(now + 100), None)}
    assert rest | flying.keys() == keys


# Queueing hints


def fail_to_schedule(world: World, pending: Any) -> None:
    assert isinstance(world.fail(pending), UnschedulablePod)
    assert world.schedule_one() is None


def requeued(world: World) -> bool:
    return world.schedule_one() is not None


def two_zones(**rest: Any) -> World:
    return World(node("a", labels={"zone": "a"}, **rest), node("b", labels={"zone": "b"}, **rest))


@pytest.mark.parametrize(("port", "expected"), [(80, True), (81, False)])
def test_node_ports_hint_requires_a_released_port(port: int, *, expected: bool) -> None:
    def pod_with_ports(name: str, *ports: int) -> Any:
        listed = [{"containerPort": port, "hostPort": port} for port in ports]
        return pod(name, containers=[{"name": "c", "ports": listed}])

    world = World(node("n"))
    holder, other = pod_with_ports("holder", 80), pod_with_ports("other", 81)
    world.running("n", holder)
    world.running("n", other)
    fail_to_schedule(world, pod_with_ports("p", 80))
    world.core.remove_deleted_pod((holder if port == 80 else other).metadata.uid)
    assert requeued(world) is expected


@pytest.mark.parametrize(("labels", "space", "expected"), [({"app": "x"}, "default", True), ({"app": "y"}, "default", False), ({"app": "x"}, "other", False)])  # fmt: skip
def test_topology_spread_hint_requires_a_matching_pod(labels: Tree, space: str, *, expected: bool) -> None:
    world = two_zones(taints=[{"key": "k", "effect": "NoSchedule"}], cpu="2")
    tolerant = {"tolerations": [{"operator": "Exists"}], "labels": {"app": "x"}}
    world.running("a", pod("first", cpu="1", **tolerant))
    world.running("b", pod("second", cpu="2", labels={"app": "y"}))
    fail_to_schedule(world, pod("p", cpu="1", topologySpreadConstraints=[_SPREAD], **tolerant))
    (queued,) = world.core.queue.unschedulable_pods()
    queued.unschedulable_plugins = frozenset({"PodTopologySpread"})  # rejected by two plugins
    world.running("a", pod("new", labels=labels, namespace=space))
    assert requeued(world) is expected


@pytest.mark.parametrize(("labels", "expected"), [({"app": "x"}, True), ({"app": "y"}, False)])
def test_affinity_hint_requires_a_matching_pod(labels: Tree, *, expected: bool) -> None:
    world = World(node("n"))
    fail_to_schedule(world, pod("p", affinity=required("podAffinity", near({"app": "x"}))))
    world.running("n", pod("new", labels=labels))
    assert requeued(world) is expected


def test_affinity_hint_fires_when_an_assumed_pod_is_confirmed() -> None:
    world = World(node("n"))
    fail_to_schedule(world, pod("p", affinity=required("podAffinity", near({"app": "x"}))))
    world.add(pod("new", labels={"app": "x"}))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert world.schedule_one() is None
    world.running("n", placed.queued.pod.pod)
    world.core.binding_succeeded(placed)
    assert requeued(world)


@pytest.mark.parametrize(("name", "expected"), [("x", True), ("y", False)])
def test_anti_affinity_hint_requires_removal_of_the_conflicting_pod(name: str, *, expected: bool) -> None:
    world = World(node("n"))
    pods = {item: world.running("n", pod(item, labels={"app": item})) for item in "xy"}
    fail_to_schedule(world, pod("p", affinity=required("podAntiAffinity", near({"app": "x"}))))
    world.core.remove_deleted_pod(pods[name].metadata.uid or "")
    assert requeued(world) is expected


def test_affinity_hint_fires_on_label_changes() -> None:
    world = World(node("n"))
    friend = world.running("n", pod("friend", labels={"app": "y"}))
    fail_to_schedule(world, pod("p", affinity=required("podAffinity", near({"app": "x"}))))
    friend.metadata.labels = {"app": "x"}  # type: ignore[union-attr]
    world.core.set_assigned_pod(friend)
    assert requeued(world)


def test_affinity_hint_fires_on_namespace_label_changes() -> None:
    world = World(node("n"))
    world.core.cluster.namespaces["other"] = namespace("other").metadata.labels or {}  # type: ignore[union-attr]
    term = near({"app": "x"}, namespaceSelector={"matchLabels": {"team": "t"}})
    world.running("n", pod("friend", namespace="other", labels={"app": "x"}))
    fail_to_schedule(world, pod("p", affinity=required("podAffinity", term)))
    world.core.cluster.namespaces["other"] = {"team": "t"}
    world.core.on_cluster_event(ClusterEvent.NAMESPACE)
    assert isinstance(world.schedule_one(), AssumedPod)


@pytest.mark.parametrize(("cpu", "expected"), [("500m", True), ("1500m", False)])
def test_resources_fit_hint_fires_when_a_pod_is_scaled_down(cpu: str, *, expected: bool) -> None:
    world = World(node("n", cpu="2"))
    running = world.running("n", pod("big", cpu="1500m"))
    fail_to_schedule(world, pod("p", cpu="1"))
    running.spec.containers[0].resources.requests = {"cpu": cpu}  # type: ignore[union-attr]
    world.core.set_assigned_pod(running)
    assert requeued(world) is expected


def test_irrelevant_pod_update_requeues_no_pods() -> None:
    world = World(node("n", cpu="1"))
    running = world.running("n", pod("big", cpu="1"))
    fail_to_schedule(world, pod("p", cpu="1"))
    running.status.phase = "Running"  # type: ignore[union-attr]
    world.core.set_assigned_pod(running)
    heartbeat = node("n", cpu="1")
    heartbeat.metadata.annotations = {"seen": "now"}  # type: ignore[union-attr]
    world.core.set_node(heartbeat)
    assert not requeued(world)


def test_node_deletion_requeues_spread_pods() -> None:
    world = two_zones(cpu="1")
    world.running("a", pod("first", labels={"app": "x"}))
    world.running("b", pod("full", cpu="1"))
    fail_to_schedule(world, pod("p", cpu="1", labels={"app": "x"}, topologySpreadConstraints=[_SPREAD]))
    world.core.remove_node("b")
    result = world.schedule_one()
    assert isinstance(result, AssumedPod)
    assert result.node == "a"


def test_volume_limits_hint_requires_a_pod_with_claims() -> None:
    world = World(node("n"))
    idle = world.running("n", pod("idle"))
    busy = world.running("n", pod("busy", volumes=mounting("c")))
    world.core.catalog.claims["default/c"] = claim("c")
    fail_to_schedule(world, pod("p", cpu="9"))
    (queued,) = world.core.queue.unschedulable_pods()
    queued.unschedulable_plugins = frozenset({"NodeVolumeLimits"})
    world.core.remove_deleted_pod(idle.metadata.uid or "")  # type: ignore[union-attr]
    assert not requeued(world)
    world.core.remove_deleted_pod(busy.metadata.uid or "")  # type: ignore[union-attr]
    assert requeued(world)


def test_topology_spread_hint_fires_when_a_pod_matches_no_longer() -> None:
    world = two_zones(cpu="1")
    matching = world.running("a", pod("first", labels={"app": "x"}))
    world.running("b", pod("full", cpu="1"))
    fail_to_schedule(world, pod("p", cpu="1", labels={"app": "x"}, topologySpreadConstraints=[_SPREAD]))
    matching.metadata.labels = {}  # type: ignore[union-attr]
    world.core.set_assigned_pod(matching)
    result = world.schedule_one()
    assert isinstance(result, AssumedPod)
    assert result.node == "a"


_ADDED_NODES: list[tuple[Tree, Tree, bool]] = [
    ({"cpu": "1"}, {"cpu": "1"}, True),
    ({"cpu": "2"}, {"cpu": "1"}, False),
    # The plugin that rejected the pod accepts the node; another one rejects it in the next attempt.
    ({"cpu": "1"}, {"cpu": "1", "unschedulable": True}, True),
    ({"nodeSelector": {"disk": "ssd"}}, {"labels": {"disk": "hdd"}}, False),
    ({"nodeSelector": {"disk": "ssd"}}, {"labels": {"disk": "ssd"}, "cpu": "0"}, True),
    ({"affinity": required("podAffinity", near({"app": "x"}, "rack"))}, {}, False),
    ({"affinity": required("podAffinity", near({"app": "x"}, "rack"))}, {"labels": {"rack": "1"}}, True),
]


@pytest.mark.parametrize(("of_pod", "of_node", "expected"), _ADDED_NODES)
def test_node_hints_require_a_node_that_the_rejecting_plugin_accepts(
    of_pod: Tree, of_node: Tree, *, expected: bool
) -> None:
    world = World(node("n", cpu="500m"))
    fail_to_schedule(world, pod("p", **of_pod))
    world.core.set_node(node("new", **of_node))
    assert requeued(world) is expected


@pytest.mark.parametrize(("of_node", "expected"), [({"rack": "2"}, True), ({"rack": "1", "x": "y"}, False)])
def test_node_hint_fires_when_a_node_leaves_the_domain_of_anti_affinity(of_node: Tree, *, expected: bool) -> None:
    world = World(node("n", labels={"rack": "1"}), node("other", labels={"rack": "1"}))
    world.running("n", pod("lonely", affinity=required("podAntiAffinity", near({"app": "x"}, "rack"))))
    fail_to_schedule(world, pod("p", labels={"app": "x"}))
    world.core.set_node(node("other", labels=of_node))
    assert requeued(world) is expected


def test_node_hint_fires_for_new_nodes_when_existing_pods_have_anti_affinity() -> None:
    world = World(node("n"))
    world.running("n", pod("lonely", affinity=required("podAntiAffinity", near({"app": "x"}))))
    fail_to_schedule(world, pod("p", labels={"app": "x"}))
    world.core.set_node(node("new"))
    assert requeued(world)


_NODE_UPDATES: list[tuple[Tree, Tree, Tree, bool]] = [
    ({"cpu": "2"}, {"cpu": "1"}, {"cpu": "3"}, True),
    ({"cpu": "2"}, {"cpu": "1"}, {"cpu": "1500m"}, False),
    ({"cpu": "2"}, {"cpu": "1"}, {"cpu": "1", "labels": {"x": "y"}}, False),
    ({"nodeSelector": {"x": "y"}}, {}, {"labels": {"x": "y"}}, True),
    ({"nodeSelector": {"x": "y"}}, {"unschedulable": True, "labels": {"x": "y"}}, {"labels": {"x": "y"}}, True),
    ({}, {"unschedulable": True}, {"unschedulable": True, "cpu": "9"}, False),
    ({}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}, {}, True),
    ({}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}, {"taints": [{"key": "l", "effect": "NoSchedule"}]}, False),
    ({"topologySpreadConstraints": [{**_SPREAD, "topologyKey": "rack"}]}, {}, {"labels": {"rack": "1"}}, True),
    ({"topologySpreadConstraints": [{**_SPREAD, "topologyKey": "rack"}]}, {}, {"labels": {"x": "y"}}, False),
    ({"affinity": required("podAffinity", near({"app": "x"}, "rack"))}, {}, {"labels": {"rack": "1"}}, True),
    ({"affinity": required("podAffinity", near({"app": "x"}, "rack"))}, {}, {"labels": {"x": "y"}}, False),
]


@pytest.mark.parametrize(("of_pod", "before", "after", "expected"), _NODE_UPDATES)
def test_node_hints_require_a_change_for_the_rejecting_plugin(
    of_pod: Tree, before: Tree, after: Tree, *, expected: bool
) -> None:
    world = World(node("n", **before))
    fail_to_schedule(world, pod("p", **of_pod))
    world.core.set_node(node("n", **after))
    assert requeued(world) is expected


@pytest.mark.parametrize(
    ("space", "name", "expected"), [("default", "c", True), ("default", "d", False), ("other", "c", False)]
)
def test_claim_hint_requires_a_claim_of_the_pod(space: str, name: str, *, expected: bool) -> None:
    world = World(node("n"))
    fail_to_schedule(world, pod("p", volumes=mounting("c")))
    world.core.on_cluster_event(ClusterEvent.CLAIM, claim_queueing_hint(space, name))
    assert requeued(world) is expected


@pytest.mark.parametrize(("name", "expected"), [("sharing", True), ("same-disk", True), ("idle", False)])
def test_volume_restrictions_hint_requires_a_pod_with_the_claim_or_disk(name: str, *, expected: bool) -> None:
    world = World(node("n", cpu="1"))
    disk = {"name": "d", "awsElasticBlockStore": {"volumeID": "v"}}
    pods = {
        "sharing": world.running("n", pod("sharing", volumes=mounting("c"))),
        "same-disk": world.running("n", pod("same-disk", volumes=[disk])),
        "idle": world.running("n", pod("idle")),
    }
    world.core.catalog.claims["default/c"] = claim("c", volumeName="v")
    world.core.catalog.volumes["v"] = volume("v")
    fail_to_schedule(world, pod("p", cpu="2", volumes=[disk, *mounting("c")]))
    (queued,) = world.core.queue.unschedulable_pods()
    queued.unschedulable_plugins = frozenset({"VolumeRestrictions"})
    world.core.remove_deleted_pod(pods[name].metadata.uid or "")  # type: ignore[union-attr]
    assert requeued(world) is expected


def test_conflicting_node_names_are_reported_before_missing_claims() -> None:
    names = ({"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab")
    terms = {"nodeSelectorTerms": [{"matchFields": list(names)}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    world = World(node("a"), node("b"))
    message = world.schedule(pod("p", affinity=affinity, volumes=mounting("absent")))
    assert message.startswith("0/2 nodes are available: pod affinity terms conflict. ")


_TAINTED: Tree = {"taints": [{"key": "k", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("of_node", "of_pod", "update", "expected"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, {"labels": {"app": "x"}}, False),
        ({"cpu": "1"}, {"cpu": "2"}, {"tolerations": [{"operator": "Exists"}]}, False),
        ({"cpu": "1"}, {"cpu": "3"}, {"cpu": "2"}, True),
        (_TAINTED, {}, {"tolerations": [{"operator": "Exists"}]}, True),
        (_TAINTED, {}, {"labels": {"app": "x"}}, False),
        ({}, {"topologySpreadConstraints": [{**_SPREAD, "topologyKey": "rack"}]}, {"labels": {"app": "x"}}, True),
        ({}, {"affinity": required("podAffinity", near({"app": "x"}))}, {"labels": {"app": "x"}}, True),
    ],
)
def test_update_of_an_unschedulable_pod_requeues_it_for_the_rejecting_plugin(
    of_node: Tree, of_pod: Tree, update: Tree, *, expected: bool
) -> None:
    world = World(node("n", **of_node))
    pending = pod("p", **of_pod)
    fail_to_schedule(world, pending)
    updated = pod("p", **{**of_pod, **update})
    updated.metadata.uid = pending.metadata.uid  # type: ignore[union-attr]
    world.add(updated)
    assert requeued(world) is expected
