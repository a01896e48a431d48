"""Out-of-tree plugins: extension points, arguments, errors, queueing hints, and the way to them."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import pytest
from lightkube.models.core_v1 import Node, Pod
from tests.unit.scheduler.test_running import Running, started
from tests.unit.scheduler.world import World, node, pod

from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.configuration.loading import parse_configuration, with_plugins
from steersman.scheduler.core import AssumedPod, UnschedulablePod
from steersman.scheduler.out_of_tree import (
    ClusterEvent,
    ClusterEventWithHint,
    CycleState,
    Handle,
    NodeInfo,
    PodInfo,
    PostFilterResult,
    PreFilterResult,
    QueuedPodInfo,
    Status,
    Wait,
)
from steersman.scheduler.out_of_tree.registry import load_installed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence


class Base:
    """A plugin that keeps its arguments and its handle."""

    instances: ClassVar[list[Any]] = []

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        self.handle = handle
        self.calls: list[str] = []
        self.instances.append(self)


@pytest.fixture(autouse=True)
def _forget() -> None:
    Base.instances.clear()


def world(*plugins: type, nodes: str = "abc", **config: Any) -> World:
    """Return a world whose default profile enables the plugins at all their extension points."""
    named = {plugin.__name__: plugin for plugin in plugins}
    return World(*(node(name) for name in nodes), settings=with_plugins(named, config or None).settings)


async def attempt(world: World, pod: Pod) -> AssumedPod | UnschedulablePod:
    world.add(pod)
    result = await world.core.schedule_one(world.budgets)
    assert result is not None
    return result


async def message(world: World, pod: Pod) -> str:
    result = await attempt(world, pod)
    assert isinstance(result, UnschedulablePod)
    return result.message


async def place(world: World, pod: Pod) -> str:
    result = await attempt(world, pod)
    assert isinstance(result, AssumedPod), result.message
    return result.node


# Filter


class OnlyB(Base):
    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if node.name == "b" else Status.unschedulable("not b")


async def test_filter_rejects_nodes_with_its_reasons() -> None:
    assert await place(world(OnlyB), pod("p")) == "b"
    text = await message(world(OnlyB, nodes="ac"), pod("p"))
    assert text.startswith("0/2 nodes are available: 2 not b. ")


class Prefer(Base):
    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterResult | Status | None:
        if pod.name == "skipped":
            return Status.skip()
        if pod.name == "rejected":
            return Status.unresolvable("never")
        state["Prefer"] = [item.name for item in nodes]
        return PreFilterResult(frozenset({"c"}))

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if node.name in state["Prefer"] else Status.error("unknown node")


async def test_prefilter_restricts_nodes_skips_or_rejects() -> None:
    assert await place(world(Prefer), pod("p")) == "c"
    assert await place(world(Prefer), pod("skipped")) in {"a", "b", "c"}
    assert (await message(world(Prefer), pod("rejected"))).startswith("0/3 nodes are available: never. ")
    text = await message(world(Prefer, nodes="ab"), pod("p"))
    assert text.startswith("0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Prefer]. ")


class Exclusive(Base):
    """One pod on each node, counted in the state: simulations of preemption change it."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        state["used"] = {item.name: len(item.pods) for item in nodes}

    def add_pod(self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        state["used"][node.name] += 1

    def remove_pod(self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        state["used"][node.name] -= 1

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return Status.unschedulable("used") if state["used"][node.name] else None


async def test_preemption_simulates_with_the_prefilter_extensions() -> None:
    cluster = world(Exclusive, nodes="a")
    cluster.running("a", pod("low"))
    result = await attempt(cluster, pod("high", priority=5))
    assert isinstance(result, UnschedulablePod)
    assert result.victims is not None
    assert [victim.name for victim in result.victims.pods] == ["low"]


# Score


class Ranked(Base):
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        state["Ranked"] = {item.name: number for number, item in enumerate(nodes)}
        return Status.skip() if pod.name == "skipped" else None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 1000 if node.name == "b" else 0

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: dict[str, int]) -> dict[str, int]:
        return {name: score // 10 for name, score in scores.items()}


async def test_scores_are_normalized_and_select_the_node() -> None:
    assert await place(world(Ranked), pod("p")) == "b"
    assert await place(world(Ranked), pod("skipped")) in {"a", "b", "c"}


class TooHigh(Base):
    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 101


async def test_score_out_of_range_is_an_error_that_names_the_plugin() -> None:
    assert await message(world(TooHigh), pod("p")) == (
        'plugin "TooHigh" returns an invalid score 101, it should in the range of [0, 100] after normalizing'
    )


# Errors


class Failing(Base):
    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Any:
        match pod.name:
            case "raises":
                raise KeyError("x")
            case "error":
                return Status.error("no database")
            case _:
                return False


@pytest.mark.parametrize(
    ("name", "detail"),
    [("raises", "KeyError: 'x'"), ("error", "no database"), ("wrong type", "it returned bool")],
)
async def test_failing_plugin_fails_the_attempt_and_is_named(name: str, detail: str) -> None:
    result = await attempt(world(Failing), pod(name))
    assert isinstance(result, UnschedulablePod)
    assert result.is_fault
    assert result.message == f'running Filter plugin "Failing": {detail}'


# PostFilter


class MakesRoom(Base):
    async def post_filter(
        self, state: CycleState, pod: PodInfo, rejections: Mapping[str, Status]
    ) -> PostFilterResult | Status | None:
        if pod.name == "helped":
            return PostFilterResult(min(rejections))
        return Status.unschedulable("no room can be instances")


FIRST = {"profiles": [{"plugins": {"postFilter": {"enabled": [{"name": "MakesRoom"}]}}}]}


async def test_postfilter_nominates_a_node_or_adds_its_message() -> None:
    cluster = world(MakesRoom, nodes="ab", **FIRST)
    result = await attempt(cluster, pod("helped", cpu="9"))
    assert isinstance(result, UnschedulablePod)
    assert result.nominated_node == "a"
    assert "a" in cluster.core.cycle.nominations
    assert (await message(world(MakesRoom, **FIRST), pod("p", cpu="9"))).endswith("no room can be instances")


# Queue


class Gate(Base):
    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return Status.unschedulable("closed") if pod.labels.get("gate") and not self.handle.nodes() else None


async def test_gated_pod_is_checked_again_after_an_event() -> None:
    cluster = world(Gate, nodes="")
    cluster.add(pod("p", labels={"gate": "yes"}))
    assert cluster.core.queue.counts()["gated"] == 1
    cluster.core.set_node(node("a"))
    assert isinstance(await cluster.core.schedule_one([]), AssumedPod)


class ByName(Base):
    def less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        return first.pod.name < second.pod.name


async def test_queue_sort_orders_the_queue() -> None:
    sorts = {"queueSort": {"enabled": [{"name": "ByName"}], "disabled": [{"name": "*"}]}}
    cluster = world(ByName, profiles=[{"plugins": sorts}])
    cluster.add(pod("b"), pod("c", priority=9), pod("a"))
    placed = [await cluster.core.schedule_one([]) for _ in range(3)]
    assert [item.queued.pod.name for item in placed if item is not None] == ["a", "b", "c"]


class Undecided(Base):
    def less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        raise ValueError("incomparable")


async def test_failing_queue_sort_leaves_the_order_by_priority() -> None:
    sorts = {"queueSort": {"enabled": [{"name": "Undecided"}], "disabled": [{"name": "*"}]}}
    cluster = world(Undecided, profiles=[{"plugins": sorts}])
    cluster.add(pod("low"), pod("high", priority=9), pod("middle", priority=5))
    placed = [await cluster.core.schedule_one([]) for _ in range(3)]
    assert [item.queued.pod.name for item in placed if item is not None] == ["high", "middle", "low"]


class Picky(Base):
    """Rejects all nodes without the annotation, and registers for nodes that have it."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return [ClusterEventWithHint(ClusterEvent.NODE_ADDED | ClusterEvent.NODE_CHANGED, self.is_annotated)]

    def is_annotated(self, pod: PodInfo, old: Node | None, new: Any) -> bool:
        self.calls.append(new.metadata.name)
        return bool(new.metadata.annotations)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if node.node.metadata.annotations else Status.unschedulable("plain")


async def test_queueing_hint_decides_which_events_requeue_a_pod() -> None:
    cluster = world(Picky, nodes="a")
    await attempt(cluster, pod("p"))
    cluster.now = 10
    cluster.core.set_node(node("b"))
    cluster.core.on_cluster_event(ClusterEvent.POD_LEFT)
    assert await cluster.core.schedule_one([]) is None
    annotated = node("a")
    assert annotated.metadata is not None
    annotated.metadata.annotations = {"kind": "fine"}
    cluster.core.set_node(annotated)
    assert Base.instances[0].calls == ["b", "a"]
    assert isinstance(await cluster.core.schedule_one([]), AssumedPod)


# Reserve and Permit


class Ledger(Base):
    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        self.calls.append(f"reserve {pod.name}")
        return Status.unschedulable("overdrawn") if pod.name == "poor" else None

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        self.calls.append(f"unreserve {pod.name}")


async def test_rejected_reservation_is_undone() -> None:
    cluster = world(Ledger, nodes="a")
    assert await message(cluster, pod("poor")) == "0/1 nodes are available: 1 overdrawn."
    assert Base.instances[0].calls == ["reserve poor", "unreserve poor"]
    info = cluster.core.cluster.get("a")
    assert info is not None
    assert not info.pods
    assert cluster.core.queue.has_unschedulable, "its own release does not requeue it"


class Asking(Base):
    """Waits for pods with the label ``wait``, and records the binding cycle."""

    def permit(self, state: CycleState, pod: PodInfo, node: str) -> Status | Wait | None:
        if pod.labels.get("forbidden"):
            return Status.unschedulable("forbidden")
        return Wait(30) if pod.labels.get("wait") else None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        state["pre_bind"] = node
        return Status.unschedulable("not ready") if pod.labels.get("unready") else None

    async def bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        if not pod.labels.get("bind"):
            return Status.skip()
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name},
            "target": {"kind": "Node", "name": node},
        }
        await self.handle.client.create_subresource(Pod, pod.name, "binding", body, namespace=pod.namespace)
        return Status.error("the answer was lost") if pod.labels.get("lost") else None

    def post_bind(self, state: CycleState, pod: PodInfo, node: str) -> None:
        self.calls.append(f"bound {pod.name} on {node} after {state['pre_bind']}")


BOTH_BIND = {
    "multiPoint": {"enabled": [{"name": "Asking"}]},
    "bind": {"enabled": [{"name": "Asking"}, {"name": "DefaultBinder"}]},
}


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    settings = with_plugins({"Asking": Asking}, {"profiles": [{"plugins": BOTH_BIND}]}).settings
    async with started(settings) as created:
        await created.node("n")
        yield created


async def labelled(running: Running, name: str, **labels: str) -> None:
    container = {"name": "c", "image": "i"}
    metadata_ = {"name": name, "namespace": "default", "labels": labels}
    await running.client.create(Pod.from_dict({"metadata": metadata_, "spec": {"containers": [container]}}))


async def test_waiting_pod_is_bound_when_it_is_allowed(running: Running) -> None:
    await labelled(running, "waits", wait="yes")
    await labelled(running, "passes")
    assert await running.until(lambda: running.node_of("passes")) == "n"
    plugin = Base.instances[0]
    (waiting,) = plugin.handle.waiting_pods()
    assert (waiting.pod.name, waiting.node, list(waiting.pending_plugins)) == ("waits", "n", ["Asking"])
    assert await running.node_of("waits") is None
    waiting.allow("Asking")
    assert await running.until(lambda: running.node_of("waits")) == "n"
    await running.until(lambda: len(plugin.calls) == 2)
    assert plugin.calls == ["bound passes on n after n", "bound waits on n after n"]
    assert not plugin.handle.waiting_pods()


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("forbidden", "forbidden"),
        ("unready", "not ready"),
        ("wait", "rejected due to timeout after waiting 30s at plugin Asking"),
    ],
)
async def test_rejected_pod_is_reported_as_unschedulable(running: Running, label: str, reason: str) -> None:
    await labelled(running, "p", **{label: "yes"})
    assert await running.until(lambda: running.message("p")) == f"0/1 nodes are available: 1 {reason}."
    assert await running.node_of("p") is None


async def test_more_pods_may_wait_than_bindings_run_at_a_time(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(63):
        await running.scheduler._free.acquire()
    await labelled(running, "first", wait="yes")
    await labelled(running, "second", wait="yes")
    plugin = Base.instances[0]
    await running.until(lambda: len(plugin.handle.waiting_pods()) == 2)


async def test_deleted_waiting_pod_is_released(running: Running) -> None:
    await labelled(running, "p", wait="yes")
    plugin = Base.instances[0]
    await running.until(lambda: len(plugin.handle.waiting_pods()) == 1)
    await running.client.delete(Pod, "p", namespace="default", grace_period_seconds=0)
    await running.until(lambda: not plugin.handle.waiting_pods())
    assert not plugin.handle.node("n").pods


@pytest.mark.parametrize("labels", [{"bind": "yes"}, {"bind": "yes", "lost": "yes"}, {}])
async def test_bind_plugin_binds_or_leaves_the_pod_to_the_next(running: Running, labels: dict[str, str]) -> None:
    await labelled(running, "p", **labels)
    assert await running.until(lambda: running.node_of("p")) == "n"
    assert await running.until(lambda: running.events("Scheduled")) == ["Successfully assigned default/p to n"]


# Configuration


class WithArgs(Base):
    class Args(msgspec.Struct, forbid_unknown_fields=True):
        limit: int = 3

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None


def configuration(**args: Any) -> dict[str, Any]:
    return {
        "profiles": [
            {
                "plugins": {"filter": {"enabled": [{"name": "WithArgs"}]}},
                "pluginConfig": [{"name": "WithArgs", "args": args}],
            }
        ]
    }


def test_arguments_of_plugin_config_are_converted() -> None:
    world(WithArgs, **configuration(limit=7))
    world(WithArgs, **configuration())
    assert [plugin.args.limit for plugin in Base.instances] == [7, 3]


def test_invalid_arguments_name_the_field() -> None:
    with pytest.raises(ConfigurationError, match=r"profiles\[0\]\.pluginConfig\[0\]\.args: Invalid value: .*`int`"):
        with_plugins({"WithArgs": WithArgs}, configuration(limit="many"))


def test_plugin_that_cannot_be_created_is_named() -> None:
    class Broken(OnlyB):
        def __init__(self, args: Any, handle: Handle) -> None:
            raise OSError("no file")

    with pytest.raises(ConfigurationError, match='initializing plugin "Broken": OSError: no file'):
        world(Broken)


def test_plugin_whose_events_cannot_be_registered_is_named() -> None:
    class Silent(OnlyB):
        def events_to_register(self) -> Sequence[ClusterEventWithHint]:
            raise KeyError("event")

    with pytest.raises(ConfigurationError, match="initializing plugin \"Silent\": KeyError: 'event'"):
        world(Silent)


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        (object(), "is no class"),
        (type("Empty", (), {}), "has no method of an extension point"),
        (type("Half", (), {"reserve": print}), "has reserve, but not unreserve"),
    ],
)
def test_objects_that_are_no_plugins_are_refused(plugin: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"scheduler plugin X: .*{text}"):
        with_plugins({"X": plugin})


def test_profiles_share_the_queue_sort_plugin() -> None:
    other = {"queueSort": {"enabled": [{"name": "ByName"}], "disabled": [{"name": "*"}]}}
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": other}]
    with pytest.raises(ConfigurationError, match=r"profiles\[1\]\.plugins\.queueSort: .*must be the same"):
        with_plugins({"ByName": ByName}, {"profiles": profiles})


class Distribution:
    name = "rack-plugins"
    version = "1.0"


def installed(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = [metadata.EntryPoint(name="OnlyB", value=value, group="steersman.scheduler.plugins") for value in values]
    for point in points:
        vars(point)["dist"] = Distribution
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)


def test_plugins_of_installed_packages_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, f"{__name__}:OnlyB")
    assert load_installed({"OnlyB"}) == {"OnlyB": OnlyB}
    assert load_installed({"Other"}) == {}


def test_package_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, f"{__name__}:Missing")
    with pytest.raises(ConfigurationError, match=r"scheduler plugin OnlyB of rack-plugins 1\.0: .* cannot be loaded"):
        load_installed({"OnlyB"})


def test_name_of_two_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, f"{__name__}:OnlyB", f"{__name__}:OnlyB")
    with pytest.raises(ConfigurationError, match="scheduler plugin OnlyB: more than one package has it"):
        load_installed({"OnlyB"})


def test_packages_are_searched_only_for_names_that_no_plugin_in_tree_has() -> None:
    searched: list[Any] = []

    def find(names: Any) -> dict[str, Any]:
        searched.append(names)
        return {}

    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    parse_configuration(f"{head}profiles: [{{plugins: {{score: {{enabled: []}}}}}}]".encode(), find_plugins=find)
    assert not searched
