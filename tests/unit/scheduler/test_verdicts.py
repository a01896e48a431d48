"""What is remembered of nodes is what looking again would find, whatever has happened to them."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scheduler.world import World, near, node, pod, required

from steersman.scheduler.brain import Placed
from steersman.scheduler.cycle import Cycle
from steersman.scheduler.messages import FitError
from steersman.scheduler.pod_info import PodInfo
from steersman.scheduler.verdicts import Verdicts

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
            world.brain.set_node(_node(dice, dice.randrange(5)))
        case 1:
            world.brain.cluster.remove_node(f"n{dice.randrange(5)}")
        case 2 if uids:
            world.brain.pod_gone(uids.pop(dice.randrange(len(uids))))
        case _:
            made = pod("p", labels={"app": dice.choice("xy")}, **dice.choice(_SPECS))
            world.add(made)
            result = world.attempt()
            if not isinstance(result, Placed):
                return
            if dice.random() < 0.2:
                world.brain.not_bound(result)
            else:
                world.brain.bound(result)
                uids.append(result.queued.pod.uid)


@given(st.integers(0, 2**32))
def test_what_is_remembered_is_what_is_so(seed: int) -> None:
    dice = Random(seed)
    world, uids = World(*(_node(dice, number) for number in range(3)), seed=seed), list[str]()
    for _ in range(25):
        _step(world, dice, uids)
        verdicts = world.brain.profiles["default-scheduler"].verdicts
        for number, spec in enumerate(_SPECS):
            asking = PodInfo(pod(f"q{number}", **spec))
            fresh = Verdicts([], [])
            fresh._filters, fresh._raws = verdicts._filters, verdicts._raws  # type: ignore[misc]
            for info in world.brain.cluster.nodes:
                known = verdicts.judge(asking, info, verdicts.of(asking))
                assert known == fresh.judge(asking, info, {})


@given(st.integers(0, 2**32))
def test_a_picture_kept_up_to_date_is_the_one_taken_anew(seed: int) -> None:
    dice = Random(seed)
    world, uids = World(*(_node(dice, number) for number in range(3)), seed=seed), list[str]()
    for _ in range(25):
        _step(world, dice, uids)
    anew = World(seed=seed)
    for info in world.brain.cluster.infos.values():
        if info.node is not None:
            anew.brain.set_node(info.node)
    for info in world.brain.cluster.infos.values():
        for each in info.pods.values():
            anew.running(info.name, each.pod)
    for number, spec in enumerate(_SPECS):
        asking = PodInfo(pod(f"q{number}", labels={"app": "x"}, **spec))
        assert _feasible(world, asking) == _feasible(anew, asking)


def _feasible(world: World, asking: PodInfo) -> set[str] | str:
    cycle, profile = Cycle(world.brain.cluster, dice=Random(1)), world.brain.profiles["default-scheduler"]
    checks = profile.checks(asking, world.brain.cluster)
    found = [info.name for info in world.brain.cluster.nodes if not profile.reject(asking, info, checks)]
    try:
        chosen = cycle.schedule(asking, profile).node.name
    except FitError as error:
        assert not found
        return error.message()
    assert chosen in found
    return set(found)
