"""Selection of nodes and victims by preemption, in upstream's order of criteria."""

from __future__ import annotations

from typing import Any

import pytest
from lightkube.models.policy_v1 import PodDisruptionBudget
from tests.unit.scheduler.test_configuration import settings_with_args
from tests.unit.scheduler.world import World, node, pod

from steersman.scheduler.core import UnschedulablePod


def low(name: str, cpu: str = "1", *, priority: int = 0, started: str = "", **rest: Any) -> Any:
    status = {"startTime": f"2026-01-01T{started}:00Z"} if started else {}
    return pod(name, cpu=cpu, priority=priority, status=status, **rest)


def budget(allowed: int = 0, **labels: str) -> PodDisruptionBudget:
    tree = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }
    return PodDisruptionBudget.from_dict(tree)


def evicted(world: World, cpu: str = "2", **rest: Any) -> tuple[str, list[str]] | str:
    """Return the node and the victims of a preemption by a pod of priority 100, or the message."""
    failed = world.fail(pod("high", cpu=cpu, priority=100, **rest))
    return failed.message if failed.victims is None else (failed.victims.node, [p.name for p in failed.victims.pods])


def on_nodes(*nodes: list[Any]) -> World:
    """Return a world with nodes ``a``, ``b`` … of two CPUs and their pods."""
    names = "abcdef"[: len(nodes)]
    world = World(*(node(name, cpu="2") for name in names))
    for name, pods in zip(names, nodes, strict=True):
        for existing_pod in pods:
            world.running(name, existing_pod)
    return world


@pytest.mark.parametrize(
    ("nodes", "chosen"),
    [
        # Fewest PDB violations first, whatever the priorities.
        ([[low("kept", "2", labels={"app": "db"})], [low("other", "2", priority=50)]], ("b", ["other"])),
        # Then the lowest priority of the most important victim.
        ([[low("one", "2", priority=5)], [low("two", priority=4), low("three", priority=4)]], ("b", ["two", "three"])),
        # Then the lowest sum of priorities; each victim adds an offset.
        ([[low("one", priority=4), low("two", priority=3)], [low("three", priority=4), low("four", priority=1)]], ("b", ["three", "four"])),
        # Then fewest victims: two of -1 have a greater sum than one of 0.
        ([[low("one"), low("two", priority=-1)], [low("three", "2")]], ("b", ["three"])),
        # Then the latest start time of the most important victim.
        ([[low("old", "2", started="08:00")], [low("young", "2", started="09:00")]], ("b", ["young"])),
        # The start time of the most important victim decides, not those of others.
        (
            [
                [low("a1", priority=3, started="08:00"), low("a2", priority=3, started="11:00")],
                [low("b1", priority=3, started="09:00"), low("b2", priority=3, started="10:00")],
            ],
            ("b", ["b1", "b2"]),
        ),
    ],
)  # fmt: skip
def test_preemption_selects_the_best_candidate(nodes: list[list[Any]], chosen: tuple[str, list[str]]) -> None:
    world = on_nodes(*nodes)
    world.budgets = [budget(app="db")]
    assert evicted(world) == chosen


@pytest.mark.parametrize(
    ("pods", "victims"),
    [
        # Victims that need not be evicted are reprieved, most important first.
        ([low("x", priority=1), low("y", priority=2)], ["x"]),
        # Of equal priority, those that started earlier are reprieved.
        ([low("old", started="08:00"), low("young", started="09:00")], ["young"]),
        # Victims protected by a budget are reprieved first.
        ([low("db", labels={"app": "db"}), low("vip", priority=9)], ["vip"]),
    ],
)
def test_preemption_reprieves_victims(pods: list[Any], victims: list[str]) -> None:
    world = on_nodes(pods)
    world.budgets = [budget(app="db")]
    assert evicted(world, cpu="1") == ("a", victims)


def test_preemption_counts_budget_violations_per_pod() -> None:
    world = on_nodes(
        [low("a1", labels={"app": "db"}), low("a2", labels={"app": "db"})], [low("b1", labels={"app": "db"})]
    )
    world.running("b", low("b2", labels={"app": "x"}))
    world.budgets = [budget(1, app="db")]
    assert evicted(world) == ("b", ["b1", "b2"])


def test_preemption_evicts_lower_priorities_only_and_honors_preemption_policy() -> None:
    world = on_nodes([low("equal", "2", priority=100)])
    assert "No preemption victims found for incoming pod" in evicted(world)
    world = on_nodes([low("low", "2")])
    assert "preemption: not eligible due to preemptionPolicy=Never." in evicted(world, preemptionPolicy="Never")


def test_preemption_evicts_no_pods_when_the_node_is_too_small() -> None:
    world = on_nodes([low("low", "2")])
    assert "1 Preemption is not helpful for scheduling" in evicted(world, cpu="3")


def test_preemption_message_counts_each_reason_of_a_node() -> None:
    world = World(node("a", cpu="2", memory="2Gi"))
    requests = {"cpu": "1500m", "memory": "1500Mi"}
    world.running("a", pod("equal", priority=100, containers=[{"name": "c", "resources": {"requests": requests}}]))
    world.running("a", low("low", "100m"))
    failed = world.fail(pod("high", priority=100, containers=[{"name": "c", "resources": {"requests": requests}}]))
    assert "preemption: 0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory." in failed.message


@pytest.mark.parametrize(
    ("reason", "waits"), [("PreemptionByScheduler", True), ("EvictionByEvictionAPI", False), ("", False)]
)
def test_preemption_waits_for_preempted_pods_only(reason: str, *, waits: bool) -> None:
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": reason}] if reason else []
    leaving = pod("leaving", cpu="1", deletionTimestamp="2026-01-01T00:00:00Z", status={"conditions": conditions})
    world = on_nodes([leaving, low("other")])
    outcome = evicted(world, status={"nominatedNodeName": "a"})
    assert ("not eligible due to a terminating pod on the nominated node." in outcome) is waits


def test_preemption_continues_until_a_candidate_without_violations() -> None:
    settings = settings_with_args("DefaultPreemption", minCandidateNodesAbsolute=1, minCandidateNodesPercentage=0)
    world = World(*(node(name, cpu="2") for name in "abcdef"), settings=settings)
    for name in "abcde":
        world.running(name, low(f"db-{name}", "2", labels={"app": "db"}))
    world.running("f", low("free", "2", priority=90))
    world.budgets = [budget(app="db")]
    assert evicted(world) == ("f", ["free"])


def test_preemption_compares_the_configured_number_of_candidates() -> None:
    settings = settings_with_args("DefaultPreemption", minCandidateNodesAbsolute=1, minCandidateNodesPercentage=0)
    actual = set()
    for seed in range(8):
        world = World(*(node(name, cpu="2") for name in "ab"), seed=seed, settings=settings)
        world.running("a", low("worse", "2", priority=50))
        world.running("b", low("better", "2"))
        result = evicted(world)
        actual.add(result[0])
    assert actual == {"a", "b"}


def test_nominated_node_is_reserved_from_lower_priority_pods() -> None:
    world = on_nodes([low("low", "2")])
    assert evicted(world) == ("a", ["low"])
    world.core.remove_deleted_pod(next(iter(world.core.cluster.infos["a"].pods)))
    assert "1 Insufficient cpu" in world.fail(pod("middle", cpu="2", priority=50)).message
    world.now = 60
    result = world.schedule_one()
    assert not isinstance(result, UnschedulablePod)
    assert result is not None
    assert (result.queued.pod.name, result.node) == ("high", "a")


def test_nominated_node_name_may_be_set_externally() -> None:
    """Other components may set and clear ``nominatedNodeName`` (KEP-5278)."""
    world = World(node("a", cpu="2"))
    waiting = pod("expected", cpu="3", priority=9)
    world.fail(waiting)
    waiting.status.nominatedNodeName = "a"  # type: ignore[union-attr]
    world.add(waiting)
    assert "1 Insufficient cpu" in world.schedule(pod("p", cpu="1"))
    waiting.status.nominatedNodeName = None  # type: ignore[union-attr]
    world.add(waiting)
    assert world.schedule(pod("q", cpu="1")) == "a"
