"""The whole of a decision: from what is known of the cluster to a node, or to the words that say why there is none."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.policy_v1 import PodDisruptionBudget
from tests.unit.scheduler.world import World, node, pod

from steersman.scheduler.amounts import requests_of, usage_of
from steersman.scheduler.brain import Failed, Placed
from steersman.scheduler.node_info import NodeInfo
from steersman.scheduler.pod_info import PodInfo

NO_VICTIMS = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)
NO_HELP = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


# Amounts


def test_a_pod_asks_for_its_containers_together_or_its_hungriest_step() -> None:
    def container(cpu: str, **rest: Any) -> dict[str, Any]:
        return {"name": "x", "resources": {"requests": {"cpu": cpu}}, **rest}

    sidecar = container("100m", restartPolicy="Always")
    made = pod("p", initContainers=[sidecar, container("1500m")], containers=[container("1"), container("250m")])
    assert requests_of(made) == {"cpu": 1600}
    assert requests_of(pod("p", initContainers=[sidecar], containers=[container("1")])) == {"cpu": 1100}


def test_requests_of_the_pod_replace_the_sum_and_overhead_is_added() -> None:
    made = pod("p", cpu="2", resources={"requests": {"cpu": "500m"}}, overhead={"cpu": "50m"})
    assert requests_of(made) == {"cpu": 550}


def test_pods_without_requests_are_taken_to_use_something_when_compared() -> None:
    assert requests_of(pod("p")) == {}
    assert usage_of(pod("p")) == {"cpu": 100, "memory": 200 << 20}


def test_a_container_that_shrinks_counts_with_what_it_still_has() -> None:
    statuses = [
        {"name": "c", "allocatedResources": {"cpu": "2"}, "ready": True, "restartCount": 0, "image": "", "imageID": ""}
    ]
    assert requests_of(pod("p", cpu="1", status={"containerStatuses": statuses})) == {"cpu": 2000}


# Decisions


def test_the_emptier_node_is_liked() -> None:
    world = World(node("full"), node("empty"))
    world.running("full", pod("r", cpu="3"))
    assert world.schedule(pod("p", cpu="1")) == "empty"


def test_room_is_taken_by_pods_that_are_on_their_way() -> None:
    world = World(node("n", cpu="1"))
    assert world.schedule(pod("a", cpu="600m")) == "n"
    assert world.schedule(pod("b", cpu="600m")) == f"0/1 nodes are available: 1 Insufficient cpu. {NO_VICTIMS}"


def test_what_no_node_could_ever_hold_is_beyond_preemption() -> None:
    assert World(node("n")).schedule(pod("p", cpu="5")) == f"0/1 nodes are available: 1 Insufficient cpu. {NO_HELP}"


def test_without_nodes_there_is_nothing_to_say_of_them() -> None:
    assert World().schedule(pod("p")) == "no nodes available to schedule pods"


def test_reasons_are_counted_over_nodes_and_sorted() -> None:
    world = World(node("a", cpu="1"), node("b", cpu="1", pods="0"), node("c", unschedulable=True))
    text = world.schedule(pod("p", cpu="2"))
    assert text.startswith(
        "0/3 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 2 Insufficient cpu."
    )


def test_a_pod_that_names_nodes_is_not_held_against_others() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    assert World(node("a"), node("b")).schedule(pod("p", affinity=affinity)) == "b"
    world = World(node("a"), node("b", cpu="1"))
    text = world.schedule(pod("p", cpu="2", affinity=affinity))
    assert text.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_a_changed_node_is_judged_anew() -> None:
    world = World(node("n", cpu="1"))
    assert isinstance(world.fail(pod("p", cpu="2")), Failed)
    world.now = 60
    world.brain.set_node(node("n", cpu="2"))
    result = world.attempt()
    assert isinstance(result, Placed)
    assert result.node == "n"


def test_pods_of_another_scheduler_are_left_alone() -> None:
    world = World(node("n"))
    world.add(pod("p", schedulerName="mine"))
    assert world.attempt() is None


def test_large_clusters_are_searched_in_part_and_further_next_time() -> None:
    world = World(*(node(f"n{number}") for number in range(500)))
    world.add(pod("a"), pod("b"))
    first, second = world.attempt(), world.attempt()
    assert isinstance(first, Placed)
    assert isinstance(second, Placed)
    found = world.brain.cycle.schedule(PodInfo(pod("c")), world.brain.profiles["default-scheduler"])
    assert found.feasible == 500 * 46 // 100


def test_zones_take_turns_in_the_order_of_nodes() -> None:
    zones = {"a": "x", "b": "x", "c": "x", "d": "y"}
    world = World(*(node(name, labels={"topology.kubernetes.io/zone": zone}) for name, zone in zones.items()))
    assert [info.name for info in world.brain.cluster.nodes] == ["a", "d", "b", "c"]


# The queue


def test_more_important_pods_go_first_then_older_ones() -> None:
    world = World(node("n"))
    world.add(pod("low", priority=1), pod("first", priority=5), pod("second", priority=5))
    order = [world.attempt() for _ in range(3)]
    assert [result.queued.pod.name for result in order if result is not None] == ["first", "second", "low"]


def test_gated_pods_wait_for_the_last_gate() -> None:
    world = World(node("n"))
    made = pod("p", schedulingGates=[{"name": "a"}])
    world.add(made)
    assert world.attempt() is None
    made.spec.schedulingGates = None
    world.add(made)
    assert isinstance(world.attempt(), Placed)


# Preemption


def test_the_least_important_pods_go_and_the_node_is_promised() -> None:
    world = World(node("n", cpu="2"))
    world.running("n", pod("mid", cpu="1", priority=5))
    world.running("n", pod("low", cpu="1", priority=1))
    failed = world.fail(pod("high", cpu="1", priority=10))
    assert failed.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert failed.victims is not None
    assert [victim.name for victim in failed.victims.pods] == ["low"]
    # What was promised is not given to pods of lesser importance meanwhile.
    world.brain.pod_gone(failed.victims.pods[0].uid)
    assert world.schedule(pod("late", cpu="1", priority=2)).startswith("0/1 nodes are available")


def test_a_promise_is_kept() -> None:
    world = World(node("n", cpu="1"))
    low = world.running("n", pod("low", cpu="1"))
    world.fail(pod("high", cpu="1", priority=10))
    world.brain.pod_gone(low.metadata.uid)
    world.now = 2
    result = world.attempt()
    assert isinstance(result, Placed)
    assert result.queued.pod.name == "high"


def test_budgets_are_spared_where_there_is_another_way() -> None:
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


def test_the_node_whose_victims_matter_least_is_chosen() -> None:
    world = World(node("a", cpu="1"), node("b", cpu="1"))
    world.running("a", pod("more", cpu="1", priority=5))
    world.running("b", pod("less", cpu="1", priority=4))
    failed = world.fail(pod("high", cpu="1", priority=10))
    assert failed.victims is not None
    assert failed.victims.node == "b"


# Bookkeeping


def test_a_failed_binding_frees_the_room() -> None:
    world = World(node("n", cpu="1"))
    world.add(pod("a", cpu="1"))
    placed = world.attempt()
    assert isinstance(placed, Placed)
    world.brain.not_bound(placed)
    world.now = 1
    again = world.attempt()
    assert isinstance(again, Placed)
    assert again.queued is placed.queued


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_hold_no_room(phase: str) -> None:
    world = World(node("n", cpu="1"))
    done = world.running("n", pod("done", cpu="1"))
    done.status.phase = phase
    world.brain.pod_placed(done)
    assert world.schedule(pod("next", cpu="1")) == "n"


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2), st.booleans()), max_size=40), st.integers())
def test_what_nodes_hold_is_the_sum_of_their_pods(moves: list[tuple[int, int, bool]], seed: int) -> None:
    world = World(node("n0"), node("n1"), node("n2"), seed=seed)
    dice = Random(seed)
    uids: dict[int, str] = {}
    for number, where, stays in moves:
        if stays:
            made = pod(f"p{number}", cpu=f"{dice.randrange(1, 9)}00m")
            made.metadata.uid = uids.setdefault(number, f"u{number}")
            world.running(f"n{where}", made)
        else:
            world.brain.pod_gone(uids.get(number, ""))
    for info in world.brain.cluster.infos.values():
        fresh = NodeInfo(info.name)
        for each in info.pods.values():
            fresh.add(each)
        assert {name: value for name, value in info.requested.items() if value} == fresh.requested
        assert info.used == fresh.used


def test_a_pod_that_a_rule_stumbles_over_does_not_keep_others_waiting(caplog: pytest.LogCaptureFixture) -> None:
    world = World(node("n"))
    odd = PodInfo(pod("odd", priority=9))
    odd.requests["cpu"] = "many"  # type: ignore[assignment]
    world.brain.pod_waits(odd)
    failed = world.attempt()
    assert isinstance(failed, Failed)
    assert failed.is_fault
    assert "could not be scheduled" in caplog.text
    assert world.schedule(pod("p")) == "n"
    assert world.brain.queue.next_due == 1.0
