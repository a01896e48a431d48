"""Scores of each plugin, with the numbers of upstream's documentation, formulas and tests."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.scheduler.test_configuration import settings_with_args
from tests.unit.scheduler.world import World, near, node, pod

from steersman.apimachinery.trees import Tree
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.framework import default_normalize_score
from steersman.scheduler.pod_info import PodInfo

MI = 1024 * 1024


def scores(plugin: str, world: World, obj: Any, *, among: str = "") -> dict[str, int]:
    """Return scores from 0 to 100 by node; ``among`` names the nodes to compare, one letter each."""
    profile, pod_requesting = world.core.profiles["default-scheduler"], PodInfo(obj)
    nodes = [node for node in world.core.cluster.nodes if not among or node.name in among]
    local = next(
        (
            local_score_plugin
            for local_score_plugin, _ in profile.local_score_plugins
            if local_score_plugin.name == plugin
        ),
        None,
    )
    if local is not None:
        result = local.normalize_scores([local.score(pod_requesting, node) for node in nodes])
    else:
        other = next(score_plugin for score_plugin, _ in profile.score_plugins if score_plugin.name == plugin)
        scorer = other.pre_score(pod_requesting, world.core.cluster)
        result = (
            [0] * len(nodes) if scorer is None else scorer.normalize_scores([scorer(node) for node in nodes], nodes)
        )
    return {item.name: score for item, score in zip(nodes, result, strict=True)}


def pod_requesting(cpu: str = "", memory: str = "", **more: str) -> Any:
    requests = {name: text for name, text in {"cpu": cpu, "memory": memory, **more}.items() if text}
    return pod("p", containers=[{"name": "c", "resources": {"requests": requests}}])


def filled(settings: Settings | None, *, cpu: str = "", memory: str = "", **room: Any) -> World:
    """Return a world with node ``n`` of 4 CPUs and 10,000 bytes, and a pod with these requests on it."""
    world = World(node("n", **{"cpu": "4", "memory": "10000", **room}), settings=settings)
    if cpu or memory:
        created = pod_requesting(cpu, memory)
        created.metadata.uid = "first"
        world.running("n", created)
    return world


def strategy(kind: str, *resources: Tree, shape: list[tuple[int, int]] | None = None) -> Settings:
    scoring_strategy: Tree = {"type": kind}
    if resources:
        scoring_strategy["resources"] = list(resources)
    if shape is not None:
        points = [{"utilization": at, "score": score} for at, score in shape]
        scoring_strategy["requestedToCapacityRatio"] = {"shape": points}
    return settings_with_args("NodeResourcesFit", scoringStrategy=scoring_strategy)


CPU, MEMORY = {"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}
#: Bin packing as documented: the fuller, the higher the score.
PACKED = [(0, 0), (100, 10)]


@pytest.mark.parametrize(
    ("settings", "used", "requested", "score"),
    [
        # cpu (4000 - 3000) * 100 / 4000 = 25, memory (10000 - 5000) * 100 / 10000 = 50: (25 + 50) / 2
        (strategy("LeastAllocated"), ("", ""), ("3", "5000"), 37),
        (strategy("LeastAllocated"), ("2", "3000"), ("1", "2000"), 37),
        # weights: (25 * 3 + 50) / 4
        (strategy("LeastAllocated", {"name": "cpu", "weight": 3}, MEMORY), ("", ""), ("3", "5000"), 31),
        # more than allocatable: 0
        (strategy("LeastAllocated", CPU), ("3", ""), ("2", "1"), 0),
        # cpu 3000 * 100 / 4000 = 75, memory 50
        (strategy("MostAllocated"), ("", ""), ("3", "5000"), 62),
        (strategy("MostAllocated", {"name": "cpu", "weight": 2}, MEMORY), ("", ""), ("3", "5000"), 66),
        # overcommitted by default requests: full
        (strategy("MostAllocated", CPU), ("3", ""), ("2", "1"), 100),
        # the same shape by points: 75 and 50; halves round up
        (strategy("RequestedToCapacityRatio", shape=PACKED), ("", ""), ("3", "5000"), 63),
        (strategy("RequestedToCapacityRatio", shape=[(0, 10), (100, 0)]), ("", ""), ("3", "5000"), 38),
        # constant beyond the last point; scores of 0 have no weight
        (strategy("RequestedToCapacityRatio", CPU, shape=[(0, 0), (70, 8)]), ("", ""), ("3", ""), 80),
        (strategy("RequestedToCapacityRatio", shape=[(50, 0), (100, 10)]), ("", ""), ("3", "5000"), 50),
    ],
)
def test_node_resources_fit_scores_by_strategy(
    settings: Settings, used: tuple[str, str], requested: tuple[str, str], score: int
) -> None:
    world = filled(settings, cpu=used[0], memory=used[1])
    assert scores("NodeResourcesFit", world, pod_requesting(*requested)) == {"n": score}


def test_requested_to_capacity_ratio_matches_the_documented_example() -> None:
    """``intel.com/foo`` and memory and CPU, weights 5, 1 and 3, on two nodes (kubernetes.io, "Resource Bin Packing")."""
    resources = [{"name": "intel.com/foo", "weight": 5}, MEMORY, {"name": "cpu", "weight": 3}]
    settings = strategy("RequestedToCapacityRatio", *resources, shape=PACKED)
    foo = {"intel.com/foo": "2"}
    requested = pod_requesting("2", "256Mi", **foo)
    first = World(node("n", cpu="8", memory="1Gi", allocatable={"intel.com/foo": "4"}), settings=settings)
    used = pod_requesting("1", "256Mi", **{"intel.com/foo": "1"})
    used.metadata.uid = "first"
    first.running("n", used)
    # foo 3/4 = 75, memory 50, cpu 3/8 = 37: (75 * 5 + 50 + 37 * 3) / 9 = 59.6
    assert scores("NodeResourcesFit", first, requested) == {"n": 60}
    second = World(node("n", cpu="8", memory="1Gi", allocatable={"intel.com/foo": "8"}), settings=settings)
    used = pod_requesting("6", "512Mi", **{"intel.com/foo": "2"})
    used.metadata.uid = "first"
    second.running("n", used)
    # foo 50, memory 75, cpu 100: (50 * 5 + 75 + 100 * 3) / 9 = 69.4
    assert scores("NodeResourcesFit", second, requested) == {"n": 69}


def test_node_resources_fit_ignores_scalar_resources_not_requested() -> None:
    settings = strategy("MostAllocated", CPU, {"name": "example.com/gpu", "weight": 1})
    world = World(node("n", cpu="4", allocatable={"example.com/gpu": "4"}), settings=settings)
    assert scores("NodeResourcesFit", world, pod_requesting("2")) == {"n": 50}
    assert scores("NodeResourcesFit", world, pod_requesting("2", **{"example.com/gpu": "4"})) == {"n": 75}


@pytest.mark.parametrize(
    ("used", "requested", "score"),
    [
        # No change: 75. From even to uneven 50 at worst, from uneven to even 100 at best.
        (("", ""), ("2", "5000"), 75),
        (("", ""), ("4", ""), 50),
        (("4", ""), ("", "10000"), 100),
        # before 0.5 and 0.5, after 0.75 and 0.5: 100 and 87
        (("2", "5000"), ("1", ""), 68),
        # before 0.5 and 0, after 0.5 and 0.5: 75 and 100
        (("2", ""), ("", "5000"), 87),
    ],
)
def test_balanced_allocation_scores_improvement(used: tuple[str, str], requested: tuple[str, str], score: int) -> None:
    """50 + (50 + after - before) / 2, of 100 less the deviation (kubernetes/kubernetes#135573)."""
    world = filled(None, cpu=used[0], memory=used[1])
    assert scores("NodeResourcesBalancedAllocation", world, pod_requesting(*requested)) == {"n": score}


def test_balanced_allocation_skips_pods_without_requests() -> None:
    assert scores("NodeResourcesBalancedAllocation", filled(None), pod_requesting()) == {"n": 0}
    disk = pod_requesting(**{"ephemeral-storage": "1"})
    assert scores("NodeResourcesBalancedAllocation", filled(None), disk) == {"n": 0}


def test_balanced_allocation_uses_deviation_of_three_resources() -> None:
    resources = [{"name": name} for name in ("cpu", "memory", "example.com/gpu")]
    settings = settings_with_args("NodeResourcesBalancedAllocation", resources=resources)
    world = filled(settings, allocatable={"example.com/gpu": "4"})
    # after: 0.5, 0.5 and 1, deviation 0.2357: 76 of 100
    requested = pod_requesting("2", "5000", **{"example.com/gpu": "4"})
    assert scores("NodeResourcesBalancedAllocation", world, requested) == {"n": 63}


@pytest.mark.parametrize(
    ("raw", "reverse", "expected"),
    [
        ([1, 2, 3, 4], False, [25, 50, 75, 100]),
        ([1, 2, 3, 4], True, [75, 50, 25, 0]),
        ([1000, 10, 20, 30], False, [100, 1, 2, 3]),
        ([1000, 10, 20, 30], True, [0, 99, 98, 97]),
        ([1, 1, 1, 1], False, [100, 100, 100, 100]),
        ([1, 1, 1, 1], True, [0, 0, 0, 0]),
        ([0, 0, 0, 0], False, [0, 0, 0, 0]),
        ([0, 0, 0, 0], True, [100, 100, 100, 100]),
    ],
)
def test_default_normalize_score_scales_to_the_maximum(raw: list[int], expected: list[int], *, reverse: bool) -> None:
    """The table of upstream's ``DefaultNormalizeScore``."""
    assert default_normalize_score(raw, reverse=reverse) == expected


def test_taint_toleration_scores_prefer_no_schedule_taints() -> None:
    def prefer_no_schedule(*keys: str) -> list[Tree]:
        return [{"key": key, "effect": "PreferNoSchedule"} for key in keys]

    world = World(node("a"), node("b", taints=prefer_no_schedule("x")), node("c", taints=prefer_no_schedule("x", "y")))
    assert scores("TaintToleration", world, pod("p")) == {"a": 100, "b": 50, "c": 0}
    tolerant = pod("p", tolerations=[{"key": "x", "operator": "Exists"}])
    assert scores("TaintToleration", world, tolerant) == {"a": 100, "b": 100, "c": 0}


def test_node_affinity_scores_preferred_weights() -> None:
    def prefer(weight: int, key: str) -> Tree:
        return {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}

    wish = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [prefer(2, "x"), prefer(5, "y")]}}
    world = World(
        node("a", labels={"x": ""}), node("b", labels={"y": ""}), node("c", labels={"x": "", "y": ""}), node("d")
    )  # fmt: skip
    assert scores("NodeAffinity", world, pod("p", affinity=wish)) == {"a": 28, "b": 71, "c": 100, "d": 0}


def image(name: str, megabytes: int) -> Tree:
    return {"names": [name], "sizeBytes": megabytes * MI}


def test_image_locality_scores_by_size_and_spread() -> None:
    """Numbers of upstream's ``ImageLocality``: up to 23 MB score 0, from 1000 MB per container 100."""
    world = World(
        node("a", images=[image("gcr.io/40:latest", 40), image("gcr.io/300:latest", 300), image("gcr.io/2000:latest", 2000)]),
        node("b", images=[image("gcr.io/250:latest", 250), image("gcr.io/10:v1", 10)]),
    )  # fmt: skip

    def of(*images: str) -> Any:
        return pod("p", containers=[{"name": str(n), "image": f"gcr.io/{item}"} for n, item in enumerate(images)])

    assert scores("ImageLocality", world, of("40", "250")) == {"a": 0, "b": 5}
    assert scores("ImageLocality", world, of("40", "300")) == {"a": 7, "b": 0}
    assert scores("ImageLocality", world, of("2000")) == {"a": 100, "b": 0}
    assert scores("ImageLocality", world, of("10")) == {"a": 0, "b": 0}


def test_image_locality_adds_images_of_volumes_to_the_size_only() -> None:
    world = World(node("a", images=[image("i:latest", 300), image("model:v1", 300), image("data:v1", 600)]))
    model, data = ({"name": name, "image": {"reference": f"{name}:v1"}} for name in ("model", "data"))
    assert scores("ImageLocality", world, pod("p")) == {"a": 28}
    assert scores("ImageLocality", world, pod("p", volumes=[model])) == {"a": 59}
    assert scores("ImageLocality", world, pod("p", volumes=[model, data])) == {"a": 100}


def test_inter_pod_affinity_normalizes_between_minimum_and_maximum() -> None:
    def preferred_term(weight: int, kind: str) -> Tree:
        term = {"podAffinityTerm": near({"app": "x"}, "zone"), "weight": weight}
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}

    world = World(*(node(name, labels={"zone": zone}) for name, zone in (("a", "1"), ("b", "2"), ("c", "3"))))
    for node_name in "aab":
        world.running(node_name, pod("friend", labels={"app": "x"}))
    assert scores("InterPodAffinity", world, pod("p", affinity=preferred_term(5, "podAffinity"))) == {
        "a": 100,
        "b": 50,
        "c": 0,
    }
    away = pod("p", affinity=preferred_term(5, "podAntiAffinity"))
    assert scores("InterPodAffinity", world, away) == {"a": 0, "b": 50, "c": 100}


HOST = "kubernetes.io/hostname"


def soft_spread_pod(*keys: str, skew: int = 1) -> Any:
    """Return a pod ``foo`` with ``ScheduleAnyway`` constraints."""
    selector = {"matchExpressions": [{"key": "foo", "operator": "Exists"}]}
    common = {"maxSkew": skew, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    return pod("p", labels={"foo": ""}, topologySpreadConstraints=[{"topologyKey": key, **common} for key in keys])


def spread(*counts: int, zones: str = "") -> World:
    """Return a world with nodes ``a``, ``b`` … and these numbers of pods ``foo``; ``zones``: one letter per node."""
    names = "abcdef"[: len(counts)]
    labels: list[Tree] = [{"zone": zone} for zone in zones] or [{} for _ in names]
    world = World(*(node(name, labels=own) for name, own in zip(names, labels, strict=True)))
    for node_name, count in zip(names, counts, strict=True):
        for number in range(count):
            world.running(node_name, pod(f"{node_name}{number}", labels={"foo": ""}))
    return world


@pytest.mark.parametrize(
    ("world", "requested", "among", "expected"),
    [
        (spread(1, 1), soft_spread_pod(HOST), "", [100, 100]),
        (spread(2, 1, 0, 3), soft_spread_pod(HOST), "", [20, 60, 100, 0]),
        (spread(2, 1, 0, 3), soft_spread_pod(HOST, skew=2), "", [33, 66, 100, 16]),
        (spread(4, 3, 2, 1), soft_spread_pod(HOST, skew=3), "", [44, 66, 77, 100]),
        (spread(4, 2, 1, 3), soft_spread_pod(HOST), "abc", [33, 83, 100]),
        (spread(4, 2, 1, 3, zones="1122"), soft_spread_pod("zone"), "abc", [75, 75, 100]),
        (spread(2, 1, 2, 4, zones="1122"), soft_spread_pod("zone", HOST), "ac", [100, 63]),
    ],
)
def test_topology_spread_scores_the_smallest_domain_highest(
    world: World, requested: Any, among: str, expected: list[int]
) -> None:
    """Cases of upstream's tests of ``PodTopologySpread``."""
    assert list(scores("PodTopologySpread", world, requested, among=among).values()) == expected


def test_topology_spread_scores_nodes_without_the_label_lowest() -> None:
    world = spread(4, 2, 1, 3)
    unlabelled = node("b")
    unlabelled.metadata.labels = {"n": "b"}  # type: ignore[union-attr]
    world.core.set_node(unlabelled)
    assert scores("PodTopologySpread", world, soft_spread_pod(HOST), among="abc") == {"a": 16, "b": 0, "c": 100}


def test_topology_spread_system_defaults_score_as_constraints() -> None:
    world = spread(4, 3, 2, 1)
    world.core.workloads.set_service("default", "s", {"foo": ""})
    result = scores("PodTopologySpread", world, pod("p", labels={"foo": ""}))
    assert result == {"a": 44, "b": 66, "c": 77, "d": 100}


def test_topology_spread_match_label_keys_separate_revisions() -> None:
    """``matchLabelKeys`` (KEP-3243), also if the API server has not merged them into the selector."""
    world = World(node("a"), node("b"))
    for node_name, revision in (("a", "1"), ("a", "1"), ("b", "2")):
        world.running(node_name, pod("old", labels={"foo": "", "revision": revision}))
    requested = soft_spread_pod(HOST)
    requested.metadata.labels["revision"] = "2"
    requested.spec.topologySpreadConstraints[0].matchLabelKeys = ["revision"]
    assert scores("PodTopologySpread", world, requested) == {"a": 100, "b": 0}
