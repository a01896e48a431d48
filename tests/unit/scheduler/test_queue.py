"""Which pod is next, who comes back when, and what wakes whom."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scheduler.world import World, claim, mounting, namespace, near, node, pod, required

from steersman.scheduler.brain import Failed, Placed
from steersman.scheduler.pod_info import PodInfo
from steersman.scheduler.queue import Happening, SchedulingQueue

Tree = dict[str, Any]
_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_SPREAD |= {"labelSelector": {"matchLabels": {"app": "x"}}}


def queue() -> SchedulingQueue:
    return SchedulingQueue(
        holds_back=lambda _: False, backoff_initial_seconds=1, backoff_max_seconds=10, wait_max_seconds=300
    )


def popped(made: SchedulingQueue, now: float) -> str | None:
    found = made.pop(now)
    return None if found is None else found.pod.name


def test_the_most_important_pod_is_next_then_the_one_that_waits_longest() -> None:
    made = queue()
    for name, priority, now in (("a", 0, 1), ("b", 5, 2), ("c", 0, 0), ("d", 5, 3)):
        made.add(PodInfo(pod(name, priority=priority)), now)
    assert [popped(made, 9) for _ in range(5)] == ["b", "d", "c", "a", None]


def test_backoffs_double_up_to_their_bound() -> None:
    made = queue()
    made.add(PodInfo(pod("p")), 0)
    waits, now = [], 0.0
    for _ in range(6):
        queued = made.pop(now)
        assert queued is not None
        made.failed(queued, frozenset(), now)
        assert made.pop(queued.due - 0.01) is None
        waits.append(queued.due - now)
        now = queued.due
    assert waits == [1, 2, 4, 8, 10, 10]


def test_who_may_have_been_helped_need_not_wait_when_there_is_nothing_else_to_do() -> None:
    made = queue()
    made.add(PodInfo(pod("p")), 0)
    first = made.pop(0)
    assert first is not None
    made.failed(first, frozenset({"NodeName"}), 0)
    assert made.pop(0.1) is None  # nothing has happened
    made.activate([first.pod.uid], 0.1)
    made.add(PodInfo(pod("q")), 0.1)
    assert [popped(made, 0.1) for _ in range(3)] == ["q", "p", None]


def test_a_pod_that_has_waited_too_long_comes_back() -> None:
    made = queue()
    made.add(PodInfo(pod("p")), 0)
    queued = made.pop(0)
    assert queued is not None
    made.failed(queued, frozenset({"NodeName"}), 0)
    made.flush_waiting(299)
    assert made.pop(299) is None
    made.flush_waiting(300)
    assert popped(made, 300) == "p"


def test_a_pod_that_failed_waits_for_what_can_help_and_for_its_backoff() -> None:
    made = queue()
    made.add(PodInfo(pod("p")), 0)
    queued = made.pop(0)
    assert queued is not None
    made.failed(queued, frozenset({"NodeResourcesFit"}), 0)
    made.happened(Happening.VOLUME, 0.5)
    assert made.next_due is None
    made.happened(Happening.POD_LEFT, 0.5)
    assert made.next_due == 1.0
    assert made.pop(1.0) is queued


def test_a_pod_that_has_gone_meanwhile_does_not_come_back() -> None:
    made = queue()
    made.add(PodInfo(pod("p")), 0)
    queued = made.pop(0)
    assert queued is not None
    made.remove(queued.pod.uid)
    made.failed(queued, frozenset(), 0)
    assert len(made) == 0
    assert made.pop(99) is None


@given(st.lists(st.tuples(st.sampled_from(["add", "pop", "fail", "help", "remove"]), st.integers(0, 5)), max_size=60))
def test_no_pod_is_lost_or_tried_twice_at_once(operations: list[tuple[str, int]]) -> None:
    pods = [PodInfo(pod(f"p{number}", priority=number % 3)) for number in range(6)]
    made, known, flying, now = queue(), set[str](), dict[str, Any](), 0.0
    for operation, number in operations:
        now += 0.7
        uid = pods[number].uid
        match operation:
            case "add":
                made.add(pods[number], now)
                known.add(uid)
            case "pop":
                queued = made.pop(now)
                popped = {queued.pod.uid: queued} if queued is not None else {}
                assert not popped.keys() & flying.keys()
                flying.update(popped)
            case "fail":
                queued = flying.pop(uid, None)
                _ = queued and made.failed(queued, frozenset({"NodeName"}) if number % 2 else frozenset(), now)
            case "help":
                made.happened(Happening.NODE_ADDED, now)
            case _:
                made.remove(uid)
                known.discard(uid)
                flying.pop(uid, None)
    assert len(made) == len(known)
    made.happened(Happening.NODE_ADDED, now)
    made.flush(now + 100)
    rest = {queued.pod.uid for queued in iter(lambda: made.pop(now + 100), None)}
    assert rest | flying.keys() == known


# What wakes whom


def waits(world: World, made: Any) -> None:
    assert isinstance(world.fail(made), Failed)
    assert world.attempt() is None


def woken(world: World) -> bool:
    return world.attempt() is not None


def two_zones(**rest: Any) -> World:
    return World(node("a", labels={"zone": "a"}, **rest), node("b", labels={"zone": "b"}, **rest))


@pytest.mark.parametrize(("port", "expected"), [(80, True), (81, False)])
def test_a_port_is_waited_for(port: int, *, expected: bool) -> None:
    def using(name: str, *ports: int) -> Any:
        listed = [{"containerPort": each, "hostPort": each} for each in ports]
        return pod(name, containers=[{"name": "c", "ports": listed}])

    world = World(node("n"))
    holder, other = using("holder", 80), using("other", 81)
    world.running("n", holder)
    world.running("n", other)
    waits(world, using("p", 80))
    world.brain.pod_gone((holder if port == 80 else other).metadata.uid)
    assert woken(world) is expected


@pytest.mark.parametrize(("labels", "space", "expected"), [({"app": "x"}, "default", True), ({"app": "y"}, "default", False), ({"app": "x"}, "other", False)])  # fmt: skip
def test_a_spread_pod_waits_for_pods_of_its_kind(labels: Tree, space: str, *, expected: bool) -> None:
    world = two_zones(taints=[{"key": "k", "effect": "NoSchedule"}], cpu="2")
    tolerant = {"tolerations": [{"operator": "Exists"}], "labels": {"app": "x"}}
    world.running("a", pod("first", cpu="1", **tolerant))
    world.running("b", pod("second", cpu="2", labels={"app": "y"}))
    waits(world, pod("p", cpu="1", topologySpreadConstraints=[_SPREAD], **tolerant))
    (queued,) = world.brain.queue.waiting()
    queued.blockers = frozenset({"PodTopologySpread"})  # it waits for room as well
    world.running("a", pod("new", labels=labels, namespace=space))
    assert woken(world) is expected


@pytest.mark.parametrize(("labels", "expected"), [({"app": "x"}, True), ({"app": "y"}, False)])
def test_a_pod_that_wants_company_waits_for_it(labels: Tree, *, expected: bool) -> None:
    world = World(node("n"))
    waits(world, pod("p", affinity=required("podAffinity", near({"app": "x"}))))
    world.running("n", pod("new", labels=labels))
    assert woken(world) is expected


def test_company_that_was_only_assumed_is_told_of_when_it_is_there() -> None:
    world = World(node("n"))
    waits(world, pod("p", affinity=required("podAffinity", near({"app": "x"}))))
    world.add(pod("new", labels={"app": "x"}))
    placed = world.attempt()
    assert isinstance(placed, Placed)
    assert world.attempt() is None
    world.running("n", placed.queued.pod.pod)
    world.brain.bound(placed)
    assert woken(world)


@pytest.mark.parametrize(("name", "expected"), [("x", True), ("y", False)])
def test_a_pod_that_wants_to_be_alone_waits_until_the_other_goes(name: str, *, expected: bool) -> None:
    world = World(node("n"))
    pods = {each: world.running("n", pod(each, labels={"app": each})) for each in "xy"}
    waits(world, pod("p", affinity=required("podAntiAffinity", near({"app": "x"}))))
    world.brain.pod_gone(pods[name].metadata.uid or "")
    assert woken(world) is expected


def test_a_pod_that_wants_company_is_told_of_other_labels() -> None:
    world = World(node("n"))
    friend = world.running("n", pod("friend", labels={"app": "y"}))
    waits(world, pod("p", affinity=required("podAffinity", near({"app": "x"}))))
    friend.metadata.labels = {"app": "x"}  # type: ignore[union-attr]
    world.brain.pod_placed(friend)
    assert woken(world)


def test_labels_of_namespaces_count() -> None:
    world = World(node("n"))
    world.brain.cluster.namespaces["other"] = namespace("other").metadata.labels or {}  # type: ignore[union-attr]
    term = near({"app": "x"}, namespaceSelector={"matchLabels": {"team": "t"}})
    world.running("n", pod("friend", namespace="other", labels={"app": "x"}))
    waits(world, pod("p", affinity=required("podAffinity", term)))
    world.brain.cluster.namespaces["other"] = {"team": "t"}
    world.brain.happened(Happening.NAMESPACE)
    assert isinstance(world.attempt(), Placed)


@pytest.mark.parametrize(("cpu", "expected"), [("500m", True), ("1500m", False)])
def test_room_that_a_resize_gives_back_is_waited_for(cpu: str, *, expected: bool) -> None:
    world = World(node("n", cpu="2"))
    running = world.running("n", pod("big", cpu="1500m"))
    waits(world, pod("p", cpu="1"))
    running.spec.containers[0].resources.requests = {"cpu": cpu}  # type: ignore[union-attr]
    world.brain.pod_placed(running)
    assert woken(world) is expected


def test_a_change_that_nobody_looks_at_wakes_nobody() -> None:
    world = World(node("n", cpu="1"))
    running = world.running("n", pod("big", cpu="1"))
    waits(world, pod("p", cpu="1"))
    running.status.phase = "Running"  # type: ignore[union-attr]
    world.brain.pod_placed(running)
    heartbeat = node("n", cpu="1")
    heartbeat.metadata.annotations = {"seen": "now"}  # type: ignore[union-attr]
    world.brain.set_node(heartbeat)
    assert not woken(world)


def test_an_empty_domain_that_goes_may_help_a_spread_pod() -> None:
    world = two_zones(cpu="1")
    world.running("a", pod("first", labels={"app": "x"}))
    world.running("b", pod("full", cpu="1"))
    waits(world, pod("p", cpu="1", labels={"app": "x"}, topologySpreadConstraints=[_SPREAD]))
    world.brain.remove_node("b")
    result = world.attempt()
    assert isinstance(result, Placed)
    assert result.node == "a"


def test_a_pod_whose_disks_do_not_fit_waits_for_a_pod_with_disks() -> None:
    world = World(node("n"))
    idle = world.running("n", pod("idle"))
    busy = world.running("n", pod("busy", volumes=mounting("c")))
    world.brain.catalog.claims["default/c"] = claim("c")
    waits(world, pod("p", cpu="9"))
    (queued,) = world.brain.queue.waiting()
    queued.blockers = frozenset({"NodeVolumeLimits"})
    world.brain.pod_gone(idle.metadata.uid or "")  # type: ignore[union-attr]
    assert not woken(world)
    world.brain.pod_gone(busy.metadata.uid or "")  # type: ignore[union-attr]
    assert woken(world)
