"""Choice of the pods that a critical pod preempts at kubelet admission."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.nodes.pod_preemption import Contender, PreemptionError, pods_to_preempt


def contender(name: str, qos: str = "Burstable", *, priority: int | None = 0, **requests: int) -> Contender:
    return Contender(name, f"ns/{name}", priority, priority is not None and priority >= 2_000_000_000, qos, requests)


CRITICAL = contender("critical", priority=2_000_000_000)


def names(pods: list[Contender], /, **needed: int) -> list[str]:
    return [pod.uid for pod in pods_to_preempt(CRITICAL, pods, needed)]


@pytest.mark.parametrize(
    ("metadata", "priority", "is_critical"),
    [
        ({}, None, False),
        ({}, 1_999_999_999, False),
        ({}, 2_000_000_000, True),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, 0, True),
    ],
)
def test_contender_is_critical_by_priority_or_as_a_mirror_pod(
    metadata: dict[str, object], priority: int | None, is_critical: bool
) -> None:
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "u", **metadata}, "spec": {"priority": priority}}
    result = Contender.of(pod, {})
    assert (result.key, result.is_critical, result.quality_of_service) == ("ns/p", is_critical, "BestEffort")


def test_fewest_pods_are_preempted() -> None:
    pods = [contender("a", cpu=300), contender("b", cpu=600), contender("c", cpu=500)]
    assert names(pods, cpu=550) == ["b"]


def test_smallest_of_equally_suitable_pods_is_preempted() -> None:
    pods = [contender("a", cpu=900, memory=5), contender("b", cpu=800, memory=5), contender("c", cpu=700, memory=9)]
    assert names(pods, cpu=600) == ["b"]


def test_lower_classes_are_preempted_first() -> None:
    pods = [contender("g", "Guaranteed", cpu=900), contender("b", cpu=500), contender("e", "BestEffort")]
    assert names(pods, cpu=400) == ["b"]
    assert names(pods, pods=1) == ["e"]
    assert names(pods, cpu=1000) == ["b", "g"]


def test_higher_class_gives_only_what_lower_ones_cannot() -> None:
    pods = [contender("g", "Guaranteed", cpu=900), contender("b1", cpu=500), contender("b2", cpu=300)]
    assert names(pods, cpu=1100) == ["b2", "g"]


def test_pods_of_equal_or_higher_priority_are_spared() -> None:
    pods = [contender("same", priority=2_000_000_000, cpu=900), contender("higher", priority=2_000_001_000, cpu=900)]
    with pytest.raises(
        PreemptionError, match=r"^no set of running pods found to reclaim resources: \[\(res: cpu, q: 5\), \]$"
    ):
        names(pods, cpu=5)
    lower = [contender("higher", priority=2_000_000_000, cpu=900)]
    node_critical = contender("node-critical", priority=2_000_001_000)
    assert pods_to_preempt(node_critical, lower, {"cpu": 5}) == lower


@given(
    st.lists(
        st.tuples(st.sampled_from(["BestEffort", "Burstable", "Guaranteed"]), st.integers(0, 9), st.integers(0, 9)),
        max_size=8,
    ),
    st.integers(0, 20),
    st.integers(0, 20),
)
def test_preempted_pods_free_the_shortage_without_superfluous_victims_of_a_class(
    pods: list[tuple[str, int, int]], cpu: int, memory: int
) -> None:
    contenders = [
        contender(str(index), qos, **({} if qos == "BestEffort" else {"cpu": c, "memory": m}))
        for index, (qos, c, m) in enumerate(pods)
    ]
    needed = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    enough = all(sum(pod.amount(name) for pod in contenders) >= amount for name, amount in needed.items())
    if not enough:
        with pytest.raises(PreemptionError):
            pods_to_preempt(CRITICAL, contenders, needed)
        return
    chosen = pods_to_preempt(CRITICAL, contenders, needed)
    assert all(sum(pod.amount(name) for pod in chosen) >= amount for name, amount in needed.items())
    assert len({pod.uid for pod in chosen}) == len(chosen)
    if not needed:
        assert chosen == []
