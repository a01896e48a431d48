"""Cached results and incremental snapshots equal freshly computed ones."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scheduler.world import World, near, node, pod, required, run_at_once

from steersman.scheduler.core import AssumedPod
from steersman.scheduler.cycle import SchedulingCycle
from steersman.scheduler.fit_error import FitError
from steersman.scheduler.node_results import NodeResultCache
from steersman.scheduler.pod_info import PodInfo

_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_SPREAD |= {"labelSelector": {"matchLabels": {"app": "x"}}}
_SPECS: list[dict[str, Any]] = [
    {},
    {"cpu": "1500m"},
    {"cpu": "1", "nodeSelector": {"zone": "a"}},
    {"cpu": "500m", "tolerations": [{"operator": "Exists"}]},
    {"cpu": "100m", "affinity": required("podAntiAffinity", near({"app": "x"}))},
    {"cpu": "100m", "affinity": required("podAffinity", near({"app": "x"}, "zone"))},
    {"cpu": "100m", "topologySpreadConstraints": [_SPREAD]},
    {"cpu": "2", "priority": 5},
]


def _node(dice: Random, number: int) -> Any:
    taints = [{"key": "k", "effect": "NoSchedule"}] if dice.random() < 0.2 else []
    spec: dict[str, Any] = {"taints": taints, "unschedulable": dice.random() < 0.1}
    return node(f"n{number}", cpu=dice.choice(["1", "2", "4"]), labels={"zone": dice.choice("ab")}, **spec)


def _step(world: World, dice: Random, uids: list[str]) -> None:
    world.now += dice.choice([0, 0.5, 11])
    match dice.randrange(6):
        case 0:
            world.core.set_node(_node(dice, dice.randrange(5)))
        case 1:
            world.core.cluster.remove_node(f"n{dice.randrange(5)}")
        case 2 if uids:
            world.core.remove_deleted_pod(uids.pop(dice.randrange(len(uids))))
        case _:
            new_pod = pod("p", labels={"app": dice.choice("xy")}, **dice.choice(_SPECS))
            world.add(new_pod)
            result = world.schedule_one()
            if not isinstance(result, AssumedPod):
                return
            if dice.random() < 0.2:
                world.core.binding_failed(result)
            else:
                world.core.binding_succeeded(result)
                uids.append(result.queued.pod.uid)


@given(st.integers(0, 2**32))
def test_node_result_cache_equals_fresh_results(seed: int) -> None:
    dice = Random(seed)
    world, uids = World(*(_node(dice, number) for number in range(3)), seed=seed), list[str]()
    for _ in range(25):
        _step(world, dice, uids)
        node_results = world.core.profiles["default-scheduler"].node_results
        for number, spec in enumerate(_SPECS):
            pod_info = PodInfo(pod(f"q{number}", **spec))
            fresh = NodeResultCache([], [])
            fresh._filters, fresh._scorers = node_results._filters, node_results._scorers  # type: ignore[misc]
            for info in world.core.cluster.nodes:
                cached = node_results.evaluate(pod_info, info, node_results.results_for(pod_info))
                assert cached == fresh.evaluate(pod_info, info, {})


@given(st.integers(0, 2**32))
def test_incremental_snapshot_equals_a_rebuilt_one(seed: int) -> None:
    dice = Random(seed)
    world, uids = World(*(_node(dice, number) for number in range(3)), seed=seed), list[str]()
    for _ in range(25):
        _step(world, dice, uids)
    rebuilt = World(seed=seed)
    for info in world.core.cluster.infos.values():
        if info.node is not None:
            rebuilt.core.set_node(info.node)
    for info in world.core.cluster.infos.values():
        for item in info.pods.values():
            rebuilt.running(info.name, item.pod)
    for number, spec in enumerate(_SPECS):
        asking = PodInfo(pod(f"q{number}", labels={"app": "x"}, **spec))
        assert _feasible(world, asking) == _feasible(rebuilt, asking)


def _feasible(world: World, pod_info: PodInfo) -> set[str] | str:
    cycle, profile = SchedulingCycle(world.core.cluster, dice=Random(1)), world.core.profiles["default-scheduler"]
    filters = profile.pre_filter(pod_info, world.core.cluster)
    names = [info.name for info in world.core.cluster.nodes if not profile.filter(pod_info, info, filters)]
    try:
        chosen = run_at_once(cycle.schedule(pod_info, profile)).node.name
    except FitError as error:
        assert not names
        return error.message()
    assert chosen in names
    return set(names)
