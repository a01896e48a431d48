"""Complete scheduling decisions: from the cluster state to a node or a message."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.policy_v1 import PodDisruptionBudget
from tests.unit.scheduler.world import World, node, pod

from steersman.scheduler.core import AssumedPod, UnschedulablePod
from steersman.scheduler.node_info import NodeInfo
from steersman.scheduler.pod_info import PodInfo
from steersman.workloads.resources import pod_nonzero_requests, pod_requests

NO_VICTIMS = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)
NO_HELP = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


# Amounts


def test_pod_requests_take_the_larger_of_containers_and_init_steps() -> None:
    def container(cpu: str, **rest: Any) -> dict[str, Any]:
        return {"name": "x", "resources": {"requests": {"cpu": cpu}}, **rest}

    sidecar = container("100m", restartPolicy="Always")
    new_pod = pod("p", initContainers=[sidecar, container("1500m")], containers=[container("1"), container("250m")])
    assert pod_requests(new_pod) == {"cpu": 1600}
    assert pod_requests(pod("p", initContainers=[sidecar], containers=[container("1")])) == {"cpu": 1100}


def test_pod_requests_prefer_pod_level_and_add_overhead() -> None:
    new_pod = pod("p", cpu="2", resources={"requests": {"cpu": "500m"}}, overhead={"cpu": "50m"})
    assert pod_requests(new_pod) == {"cpu": 550}


def test_pod_nonzero_requests_default_without_requests() -> None:
    assert pod_requests(pod("p")) == {}
    assert pod_nonzero_requests(pod("p")) == {"cpu": 100, "memory": 200 << 20}


def test_pod_requests_use_allocated_resources_during_a_scale_down() -> None:
    statuses = [
        {"name": "c", "allocatedResources": {"cpu": "2"}, "ready": True, "restartCount": 0, "image": "", "imageID": ""}
    ]
    assert pod_requests(pod("p", cpu="1", status={"containerStatuses": statuses})) == {"cpu": 2000}


# Decisions


def test_least_allocated_node_is_selected() -> None:
    world = World(node("full"), node("empty"))
    world.running("full", pod("r", cpu="3"))
    assert world.schedule(pod("p", cpu="1")) == "empty"


def test_assumed_pods_count_against_allocatable() -> None:
    world = World(node("n", cpu="1"))
    assert world.schedule(pod("a", cpu="600m")) == "n"
    assert world.schedule(pod("b", cpu="600m")) == f"0/1 nodes are available: 1 Insufficient cpu. {NO_VICTIMS}"


def test_preemption_is_skipped_when_requests_exceed_allocatable() -> None:
    assert World(node("n")).schedule(pod("p", cpu="5")) == f"0/1 nodes are available: 1 Insufficient cpu. {NO_HELP}"


def test_message_without_nodes() -> None:
    assert World().schedule(pod("p")) == "no nodes available to schedule pods"


def test_message_counts_and_sorts_reasons() -> None:
    world = World(node("a", cpu="1"), node("b", cpu="1", pods="0"), node("c", unschedulable=True))
    text = world.schedule(pod("p", cpu="2"))
    assert text.startswith(
        "0/3 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 2 Insufficient cpu."
    )


def test_prefilter_result_limits_evaluated_nodes() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    assert World(node("a"), node("b")).schedule(pod("p", affinity=affinity)) == "b"
    world = World(node("a"), node("b", cpu="1"))
    text = world.schedule(pod("p", cpu="2", affinity=affinity))
    assert text.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_changed_node_is_evaluated_again() -> None:
    world = World(node("n", cpu="1"))
    assert isinstance(world.fail(pod("p", cpu="2")), UnschedulablePod)
    world.now = 60
    world.core.set_node(node("n", cpu="2"))
    result = world.schedule_one()
    assert isinstance(result, AssumedPod)
    assert result.node == "n"


def test_pods_of_another_scheduler_are_ignored() -> None:
    world = World(node("n"))
    world.add(pod("p", schedulerName="mine"))
    assert world.schedule_one() is None


async def test_large_cluster_search_stops_early_and_rotates() -> None:
    world = World(*(node(f"n{number}") for number in range(500)))
    world.add(pod("a"), pod("b"))
    first, second = world.schedule_one(), world.schedule_one()
    assert isinstance(first, AssumedPod)
    assert isinstance(second, AssumedPod)
    result = await world.core.cycle.schedule(PodInfo(pod("c")), world.core.profiles["default-scheduler"])
    assert result.feasible == 500 * 46 // 100


def test_snapshot_interleaves_zones() -> None:
    zones = {"a": "x", "b": "x", "c": "x", "d": "y"}
    world = World(*(node(name, labels={"topology.kubernetes.io/zone": zone}) for name, zone in zones.items()))
    assert [info.name for info in world.core.cluster.nodes] == ["a", "d", "b", "c"]


# The queue


def test_pods_are_scheduled_by_priority_then_age() -> None:
    world = World(node("n"))
    world.add(pod("low", priority=1), pod("first", priority=5), pod("second", priority=5))
    order = [world.schedule_one() for _ in range(3)]
    assert [result.queued.pod.name for result in order if result is not None] == ["first", "second", "low"]


def test_gated_pod_is_scheduled_after_its_last_gate_is_removed() -> None:
    world = World(node("n"))
    new_pod = pod("p", schedulingGates=[{"name": "a"}])
    world.add(new_pod)
    assert world.schedule_one() is None
    new_pod.spec.schedulingGates = None
    world.add(new_pod)
    assert isinstance(world.schedule_one(), AssumedPod)


# Preemption


def test_preemption_evicts_the_lowest_priority_and_nominates_the_node() -> None:
    world = World(node("n", cpu="2"))
    world.running("n", pod("mid", cpu="1", priority=5))
    world.running("n", pod("low", cpu="1", priority=1))
    failed = world.fail(pod("high", cpu="1", priority=10))
    assert failed.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert failed.victims is not None
    assert [victim.name for victim in failed.victims.pods] == ["low"]
    # What was promised is not given to pods of lesser importance meanwhile.
    world.core.remove_deleted_pod(failed.victims.pods[0].uid)
    assert world.schedule(pod("late", cpu="1", priority=2)).startswith("0/1 nodes are available")


def test_nominated_pod_is_scheduled_on_its_node() -> None:
    world = World(node("n", cpu="1"))
    low = world.running("n", pod("low", cpu="1"))
    world.fail(pod("high", cpu="1", priority=10))
    world.core.remove_deleted_pod(low.metadata.uid)
    world.now = 2
    result = world.schedule_one()
    assert isinstance(result, AssumedPod)
    assert result.queued.pod.name == "high"


def test_preemption_prefers_nodes_without_budget_violations() -> None:
    world = World(node("a", cpu="1"), node("b", cpu="1"))
    world.running("a", pod("guarded", cpu="1", labels={"app": "x"}))
    world.running("b", pod("free", cpu="1", labels={"app": "y"}))
    budget = {
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }
    world.budgets = [PodDisruptionBudget.from_dict(budget)]
    failed = world.fail(pod("high", cpu="1", priority=10))
    assert failed.victims is not None
    assert failed.victims.node == "b"


def test_preemption_prefers_victims_of_lower_priority() -> None:
    world = World(node("a", cpu="1"), node("b", cpu="1"))
    world.running("a", pod("more", cpu="1", priority=5))
    world.running("b", pod("less", cpu="1", priority=4))
    failed = world.fail(pod("high", cpu="1", priority=10))
    assert failed.victims is not None
    assert failed.victims.node == "b"


# Bookkeeping


def test_failed_binding_releases_assumed_resources() -> None:
    world = World(node("n", cpu="1"))
    world.add(pod("a", cpu="1"))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    world.core.binding_failed(placed)
    world.now = 1
    again = world.schedule_one()
    assert isinstance(again, AssumedPod)
    assert again.queued is placed.queued


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_terminated_pods_release_resources(phase: str) -> None:
    world = World(node("n", cpu="1"))
    done = world.running("n", pod("done", cpu="1"))
    done.status.phase = phase
    world.core.set_assigned_pod(done)
    assert world.schedule(pod("next", cpu="1")) == "n"


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2), st.booleans()), max_size=40), st.integers())
def test_node_requested_equals_the_sum_of_its_pods(moves: list[tuple[int, int, bool]], seed: int) -> None:
    world = World(node("n0"), node("n1"), node("n2"), seed=seed)
    dice = Random(seed)
    uids: dict[int, str] = {}
    for number, node_number, stays in moves:
        if stays:
            new_pod = pod(f"p{number}", cpu=f"{dice.randrange(1, 9)}00m")
            new_pod.metadata.uid = uids.setdefault(number, f"u{number}")
            world.running(f"n{node_number}", new_pod)
        else:
            world.core.remove_deleted_pod(uids.get(number, ""))
    for info in world.core.cluster.infos.values():
        fresh = NodeInfo(info.name)
        for item in info.pods.values():
            fresh.add(item)
        assert {name: value for name, value in info.requested.items() if value} == fresh.requested
        assert info.nonzero_requested == fresh.nonzero_requested


def test_plugin_exception_does_not_block_other_pods(caplog: pytest.LogCaptureFixture) -> None:
    world = World(node("n"))
    odd = PodInfo(pod("odd", priority=9))
    odd.requests["cpu"] = "many"  # type: ignore[assignment]
    world.core.set_pending_pod(odd)
    failed = world.schedule_one()
    assert isinstance(failed, UnschedulablePod)
    assert failed.is_fault
    assert "could not be scheduled" in caplog.text
    assert world.schedule(pod("p")) == "n"
    assert world.core.queue.next_backoff_end == 1.0
