"""What a pod takes of its node: containers, their start, overhead, the pod as a whole, and resizes under way."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.scheduler.world import pod

from steersman.scheduler.amounts import is_extended, is_scalar, requests_of, usage_of

Tree = dict[str, Any]
GI = 1024**3


def container(cpu: str = "", memory: str = "", **rest: Any) -> Tree:
    requests = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text}
    return {"name": "c", "resources": {"requests": requests}, **rest}


def sidecar(cpu: str) -> Tree:
    return container(cpu, restartPolicy="Always")


def cpu_of(*running: Tree, start: tuple[Tree, ...] = (), **rest: Any) -> int:
    return requests_of(pod("p", containers=list(running), initContainers=list(start), **rest))["cpu"]


def test_containers_run_together_and_start_one_after_the_other() -> None:
    """The example of upstream's ``NodeResourcesFit``: CPU 3, memory 3G."""
    first = [container("2", "1G"), container("2", "3G")]
    made = pod("p", containers=[container("2", "1G"), container("1", "1G")], initContainers=first)
    assert requests_of(made) == {"cpu": 3000, "memory": 3 * 10**9}


@pytest.mark.parametrize(
    ("start", "cpu"),
    [
        # KEP-753: sidecars run beside all that starts after them.
        ((sidecar("1"), container("3")), 4000),
        ((container("3"), sidecar("1")), 3000),
        ((sidecar("1"), sidecar("1")), 4000),
        ((container("9"),), 9000),
    ],
)
def test_sidecars_run_beside_what_follows(start: tuple[Tree, ...], cpu: int) -> None:
    assert cpu_of(container("2"), start=start) == cpu


def test_overhead_is_added_and_requests_of_the_pod_replace_the_sum() -> None:
    assert cpu_of(container("2"), overhead={"cpu": "500m"}) == 2500
    assert cpu_of(container("2"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "500m"}) == 3500
    both = requests_of(pod("p", containers=[container("2", "1Gi")], resources={"requests": {"cpu": "3"}}))
    assert both == {"cpu": 3000, "memory": GI}


def status(*, allotted: str = "", actual: str = "", infeasible: bool = False) -> Tree:
    told: Tree = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    if allotted:
        told["allocatedResources"] = {"cpu": allotted}
    if actual:
        told["resources"] = {"requests": {"cpu": actual}}
    reason = "Infeasible" if infeasible else "Deferred"
    return {
        "containerStatuses": [told],
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
    }


@pytest.mark.parametrize(
    ("said", "cpu"),
    [
        # KEP-1287: the most of what was asked (2), allotted and is in force.
        (status(), 2000),
        (status(allotted="1", actual="1"), 2000),
        (status(allotted="3", actual="1"), 3000),
        (status(allotted="1", actual="3"), 3000),
        # What can never be done does not count.
        (status(allotted="1", actual="1", infeasible=True), 1000),
        (status(allotted="1", actual="1500m", infeasible=True), 1500),
        (status(infeasible=True), 2000),
    ],
)
def test_a_resize_counts_as_the_most_it_may_be(said: Tree, cpu: int) -> None:
    assert cpu_of(container("2"), status=said) == cpu


def test_a_resize_of_the_pod_as_a_whole_counts_likewise() -> None:
    whole = {"allocatedResources": {"cpu": "5"}, "resources": {"requests": {"cpu": "4"}}}
    assert cpu_of(container("1"), resources={"requests": {"cpu": "3"}}, status=whole) == 5000


def test_what_asks_for_nothing_is_taken_to_use_a_little() -> None:
    used = usage_of(pod("p", containers=[container(), container("1")]))
    assert used == {"cpu": 1100, "memory": 400 * 1024 * 1024}
    assert usage_of(pod("p", containers=[container("0", "0")])) == {"cpu": 0, "memory": 0}


@pytest.mark.parametrize(
    ("resource", "extended", "scalar"),
    [
        ("cpu", False, False),
        ("hugepages-2Mi", False, True),
        ("example.com/gpu", True, True),
        ("kubernetes.io/batteries", False, True),
        ("requests.example.com/gpu", False, True),
    ],
)
def test_resources_are_of_several_kinds(resource: str, *, extended: bool, scalar: bool) -> None:
    assert (is_extended(resource), is_scalar(resource)) == (extended, scalar)
