from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.coordination_v1 import Lease
from lightkube.models.core_v1 import Node, Pod

from steersman.asynckit.clock import FakeClock
from steersman.client import tree
from steersman.controllers.nodelifecycle.controller import build
from steersman.controllers.nodelifecycle.health import GracePeriods, Health
from steersman.controllers.nodelifecycle.plan import silent, spec_patch, unready_patch, unready_pods, wanted_taints
from steersman.controllers.nodelifecycle.rate_limited_queue import RateLimitedQueue
from steersman.controllers.nodelifecycle.zones import Rates, Zones, ZoneState, is_counted, zone_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GRACE = GracePeriods(50, 60)


def node(ready=None, *, taints=(), labels=None, unschedulable=None, heartbeat=None, **conditions):
    rows = [{"type": type_, "status": status} for type_, status in conditions.items()]
    if ready is not None:
        rows.append({"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat})
    created = NOW - timedelta(seconds=10)
    metadata = {"name": "n", "labels": labels, "resourceVersion": "7", "creationTimestamp": created}
    spec = {"taints": list(taints), "unschedulable": unschedulable}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"conditions": rows}}, Node)


def taint(key, effect="NoSchedule"):
    return {"key": f"node.kubernetes.io/{key}", "effect": effect}


def names(taints):
    return None if taints is None else [f"{taint.key.rpartition('/')[2]}:{taint.effect}" for taint in taints]


@pytest.mark.parametrize(
    ("target_node", "evict", "expected"),
    [
        (node("True"), False, None),
        (node("True", taints=[taint("not-ready")]), False, []),
        (node(taints=[taint("not-ready")]), False, []),
        (node("False"), False, ["not-ready:NoSchedule"]),
        (node("Unknown"), True, ["unreachable:NoSchedule", "unreachable:NoExecute"]),
        (node("True", MemoryPressure="True", PIDPressure="Unknown"), False, ["memory-pressure:NoSchedule"]),
        (node("True", unschedulable=True), False, ["unschedulable:NoSchedule"]),
        (node("True", taints=[{"key": "k", "effect": "NoExecute"}, taint("disk-pressure")]), True, ["k:NoExecute"]),
        (node("True", taints=[taint("not-ready", "PreferNoSchedule")]), True, None),
        (
            node("Unknown", taints=[taint("not-ready"), taint("not-ready", "NoExecute")]),
            True,
            ["unreachable:NoSchedule", "unreachable:NoExecute"],
        ),
    ],
)
def test_wanted_taints_follow_conditions_and_keep_others(target_node, evict, expected):
    assert names(wanted_taints(target_node, evict=evict, now=NOW)) == expected


def test_no_execute_taint_has_time_added():
    assert wanted_taints(node("False"), evict=False, now=NOW)[0].timeAdded == NOW


def test_spec_patch_has_the_resource_version():
    assert spec_patch(node("True", taints=[taint("not-ready")]), evict=False, now=NOW) == {
        "spec": {"taints": None},
        "metadata": {"resourceVersion": "7"},
    }
    assert spec_patch(node("True"), evict=False, now=NOW) is None


def test_mirrored_labels_follow_their_successors():
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64"}
    patch = spec_patch(node("True", labels=labels), evict=False, now=NOW)
    assert patch == {"metadata": {"labels": {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"}}}


def test_silent_sets_conditions_unknown():
    target_node = silent(node("True", MemoryPressure="False", NetworkUnavailable="False"), now=NOW)
    conditions = {
        condition.type: (condition.status, condition.reason or "") for condition in target_node.status.conditions
    }
    assert conditions == {
        "Ready": ("Unknown", "NodeStatusUnknown"),
        "MemoryPressure": ("Unknown", "NodeStatusUnknown"),
        "NetworkUnavailable": ("False", ""),
        "DiskPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "PIDPressure": ("Unknown", "NodeStatusNeverUpdated"),
    }
    assert silent(target_node, now=NOW) is None


def test_ready_pods_of_an_unready_node_are_marked_unready():
    ready = {"metadata": {"name": "p", "uid": "u"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    pods = [msgspec.convert(body, Pod) for body in (ready, {"metadata": {"name": "q"}})]
    assert unready_pods(pods) == pods[:1]
    assert unready_patch(pods[0], now="t")["status"]["conditions"][0]["status"] == "False"


def lease(seconds):
    return msgspec.convert({"metadata": {}, "spec": {"renewTime": NOW + timedelta(seconds=seconds)}}, Lease)


def test_node_without_status_has_a_grace_period_from_creation():
    health = Health.of(node(), now=NOW, monotonic=1000)
    assert health.seconds_left(GRACE, monotonic=1000) == 50
    health.observe(node("True"), monotonic=1020)
    assert health.seconds_left(GRACE, monotonic=1030) == 40


def test_changed_heartbeats_and_renewals_reset_the_grace_period():
    health = Health.of(node("True", heartbeat=NOW), now=NOW, monotonic=0)
    health.observe(node("True", heartbeat=NOW), monotonic=20)
    assert health.seconds_left(GRACE, monotonic=20) == 30
    health.renew(lease(5), monotonic=30)
    health.renew(lease(5), monotonic=35)
    health.renew(lease(1), monotonic=36)
    health.renew(None, monotonic=37)
    assert health.seconds_left(GRACE, monotonic=40) == 40
    health.observe(node("True", heartbeat=NOW + timedelta(seconds=1)), monotonic=60)
    assert health.heard_at == 60


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}, "r:\0:z"),
        ({"failure-domain.beta.kubernetes.io/zone": "z"}, ":\0:z"),
    ],
)
def test_zone_of(labels, expected):
    assert zone_of(node(labels=labels)) == expected


def test_excluded_nodes_are_not_counted():
    assert is_counted(node())
    assert not is_counted(node(labels={"node.kubernetes.io/exclude-disruption": ""}))


def zones(**counts):
    new_zones = Zones(Rates())
    for zone, (ready, unready) in counts.items():
        for number in range(ready + unready):
            new_zones.put(f"{zone}{number}", zone, ready=number < ready)
    return new_zones


@pytest.mark.parametrize(
    ("count", "expected"),
    [((0, 1), ZoneState.FULL), ((1, 2), ZoneState.NORMAL), ((2, 3), ZoneState.PARTIAL), ((5, 3), ZoneState.NORMAL)],
)
def test_count_state(count, expected):
    assert zones(a=count).counts["a"].state(Rates()) is expected


def test_rates_by_state():
    state = zones(a=(1, 1), b=(0, 2), c=(2, 3), d=(20, 40))
    assert [state.rate(zone) for zone in "abcd"] == [0.1, 0.1, 0.0, 0.01]


def test_full_disruption_stops_evictions():
    state = zones(a=(0, 1), b=(0, 2))
    assert state.all_down()
    assert state.rate("a") == 0
    assert state.put("b0", "b", ready=True)
    assert not state.put("b0", "b", ready=True)
    assert state.rate("a") == 0.1
    assert state.remove("b0")
    assert not state.remove("b0")


async def test_rate_limited_queue_call_at_the_zone_rate():
    clock, called = FakeClock(), []
    queue = RateLimitedQueue(0.1, clock=clock, call=called.append)
    for name in "abcd":
        queue.add(name)
    assert called == ["a"]
    queue.remove("b")
    await clock.advance(10.1)
    assert called == ["a", "c"]
    queue.set_rate(0)
    await clock.advance(60)
    assert called == ["a", "c"]
    queue.set_rate(0.1)
    assert called == ["a", "c", "d"]
    queue.add("e")
    queue.close()
    await clock.advance(60)
    assert called == ["a", "c", "d"]


async def test_rate_limited_queue_wait_for_settle_seconds():
    clock, called = FakeClock(), []
    queue = RateLimitedQueue(10, clock=clock, call=called.append, settle_seconds=1)
    queue.add("a")
    await clock.advance(0.9)
    assert called == []
    queue.set_rate(0)
    await clock.advance(1)
    assert called == []


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


async def make_node(cluster, name, status=READY):
    await cluster.make("v1", "Node", name, status=status)


def taints_are(*taints):
    def matches(obj):
        spec = obj["spec"].get("taints", ())
        return {f"{item['key'].rpartition('/')[2]}:{item['effect']}" for item in spec} == set(taints)

    return matches


async def test_ready_node_loses_its_taint(cluster):
    await cluster.start(build)
    await make_node(cluster, "n")
    await cluster.eventually("v1", "Node", "n", taints_are(), within_seconds=2)
    events = await cluster.events("RegisteredNode")
    assert [event["message"] for event in events] == ["Node n event: Registered Node n in Controller"]
    await cluster.client.delete(tree("v1", "Node"), "n")
    await cluster.clock.advance(1)
    assert len(await cluster.events("RemovingNode")) == 1


async def renew(cluster, name):
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40,
                     "renewTime": cluster.clock.now().isoformat().replace("+00:00", "Z")}}  # fmt: skip
    await cluster.client.apply(body, field_manager="kubelet", force=True)


async def test_silent_node_is_tainted_and_its_pods_marked_unready(cluster, pod_spec):
    await cluster.start(build)
    await make_node(cluster, "alive")
    await make_node(cluster, "silent")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "nodeName": "silent"}, status=status)
    for _ in range(4):
        await renew(cluster, "alive")
        await cluster.clock.advance(12)
    await renew(cluster, "alive")
    await cluster.eventually("v1", "Node", "silent", taints_are(), within_seconds=1)
    expected = taints_are("unreachable:NoSchedule", "unreachable:NoExecute")
    await cluster.eventually("v1", "Node", "silent", expected, within_seconds=4)
    conditions = lambda pod: pod["status"]["conditions"][0]["status"] == "False"  # noqa: E731 — short
    await cluster.eventually("v1", "Pod", "p", conditions, namespace="default", within_seconds=2)
    assert taints_are()(await cluster.find("v1", "Node", "alive"))
    assert len(await cluster.events("NodeNotReady")) == 2


async def test_full_disruption_evicts_no_pod(cluster):
    controller = await cluster.start(build)
    seen = []
    controller.informer(Node).add_callback(lambda change: seen.extend(change.latest.spec.taints or ()))
    await make_node(cluster, "a")
    await make_node(cluster, "b")
    await cluster.clock.advance(90)
    assert {item.effect for item in seen} == {"NoSchedule"}
    for name in ("a", "b"):
        await cluster.eventually("v1", "Node", name, taints_are("unreachable:NoSchedule"), within_seconds=5)
    await cluster.client.patch(tree("v1", "Node"), "a", {"status": READY}, subresource="status")
    await cluster.eventually("v1", "Node", "a", taints_are(), within_seconds=2)
    await cluster.eventually(
        "v1", "Node", "b", taints_are("unreachable:NoSchedule", "unreachable:NoExecute"), within_seconds=4
    )
