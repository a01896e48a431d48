"""Effective pod requests: containers, init containers, overhead, pod-level resources and resizes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.scheduler.world import pod

from steersman.apimachinery.trees import Tree
from steersman.workloads.resources import is_extended, is_scalar, pod_nonzero_requests, pod_requests

GI = 1024**3


def container(cpu: str = "", memory: str = "", **rest: Any) -> Tree:
    requests = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text}
    return {"name": "c", "resources": {"requests": requests}, **rest}


def sidecar(cpu: str) -> Tree:
    return container(cpu, restartPolicy="Always")


def cpu_of(*running: Tree, start: tuple[Tree, ...] = (), **rest: Any) -> int:
    return pod_requests(pod("p", containers=list(running), initContainers=list(start), **rest))["cpu"]


def test_pod_requests_sum_containers_or_take_the_largest_init_container() -> None:
    """The example of upstream's ``NodeResourcesFit``: CPU 3, memory 3G."""
    first = [container("2", "1G"), container("2", "3G")]
    new_pod = pod("p", containers=[container("2", "1G"), container("1", "1G")], initContainers=first)
    assert pod_requests(new_pod) == {"cpu": 3000, "memory": 3 * 10**9}


@pytest.mark.parametrize(
    ("start", "cpu"),
    [
        # KEP-753: sidecars run alongside all containers that start later.
        ((sidecar("1"), container("3")), 4000),
        ((container("3"), sidecar("1")), 3000),
        ((sidecar("1"), sidecar("1")), 4000),
        ((container("9"),), 9000),
    ],
)
def test_pod_requests_count_sidecars_with_later_containers(start: tuple[Tree, ...], cpu: int) -> None:
    assert cpu_of(container("2"), start=start) == cpu


def test_pod_requests_add_overhead_and_prefer_pod_level_requests() -> None:
    assert cpu_of(container("2"), overhead={"cpu": "500m"}) == 2500
    assert cpu_of(container("2"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "500m"}) == 3500
    both = pod_requests(pod("p", containers=[container("2", "1Gi")], resources={"requests": {"cpu": "3"}}))
    assert both == {"cpu": 3000, "memory": GI}


def status(*, allotted: str = "", actual: str = "", infeasible: bool = False) -> Tree:
    container_status: Tree = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    if allotted:
        container_status["allocatedResources"] = {"cpu": allotted}
    if actual:
        container_status["resources"] = {"requests": {"cpu": actual}}
    reason = "Infeasible" if infeasible else "Deferred"
    return {
        "containerStatuses": [container_status],
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
    }


@pytest.mark.parametrize(
    ("pod_status", "cpu"),
    [
        # KEP-1287: maximum of requested (2), allocated and actual resources.
        (status(), 2000),
        (status(allotted="1", actual="1"), 2000),
        (status(allotted="3", actual="1"), 3000),
        (status(allotted="1", actual="3"), 3000),
        # An infeasible resize does not count.
        (status(allotted="1", actual="1", infeasible=True), 1000),
        (status(allotted="1", actual="1500m", infeasible=True), 1500),
        (status(infeasible=True), 2000),
    ],
)
def test_pod_requests_use_the_maximum_during_a_resize(pod_status: Tree, cpu: int) -> None:
    assert cpu_of(container("2"), status=pod_status) == cpu


def test_pod_requests_use_the_maximum_during_a_pod_level_resize() -> None:
    whole = {"allocatedResources": {"cpu": "5"}, "resources": {"requests": {"cpu": "4"}}}
    assert cpu_of(container("1"), resources={"requests": {"cpu": "3"}}, status=whole) == 5000


def test_pod_nonzero_requests_default_when_containers_request_nothing() -> None:
    used = pod_nonzero_requests(pod("p", containers=[container(), container("1")]))
    assert used == {"cpu": 1100, "memory": 400 * 1024 * 1024}
    assert pod_nonzero_requests(pod("p", containers=[container("0", "0")])) == {"cpu": 0, "memory": 0}


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
def test_resource_names_are_classified(resource: str, *, extended: bool, scalar: bool) -> None:
    assert (is_extended(resource), is_scalar(resource)) == (extended, scalar)
