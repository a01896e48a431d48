"""Extended resources backed by devices (KEP-5004), and device binding conditions (KEP-5007)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from lightkube.models.core_v1 import Pod
from tests.unit.scheduler.devices import claim, device_class, pod_with_claims, slice_, world
from tests.unit.scheduler.world import at, node, pod

from steersman.apimachinery.trees import Tree
from steersman.scheduler.core import AssumedPod
from steersman.scheduler.devices.extended import extended_claim_for, extended_resource_classes
from steersman.scheduler.devices.readiness import BindingFailedError, is_overdue, is_ready
from steersman.scheduler.pod_info import PodInfo

GPU = "example.com/gpu"
SERVED = device_class("gpu", extendedResourceName=GPU)


def pod_requesting(name: str = "p", *, gpus: int = 1, resource: str = GPU, **rest: Any) -> Pod:
    container = {"name": "c", "resources": {"requests": {resource: str(gpus)}}}
    return pod(name, containers=[container], **rest)


def container(name: str, gpus: int, **rest: Any) -> Tree:
    return {"name": name, "resources": {"requests": {"cpu": "1", GPU: str(gpus)} if gpus else {}}, **rest}


# Requests of the claim


@pytest.mark.parametrize(
    ("starting", "running", "requests", "mappings"),
    [
        ([], [container("a", 2)], {"container-0-request-1": 2}, [("a", "container-0-request-1")]),
        (
            [],
            [container("a", 1), container("b", 0), container("c", 3)],
            {"container-0-request-1": 1, "container-2-request-1": 3},
            [("a", "container-0-request-1"), ("c", "container-2-request-1")],
        ),
        # An init container reuses the devices of later containers,
        (
            [container("i", 2)],
            [container("a", 2)],
            {"container-1-request-1": 2},
            [("a", "container-1-request-1"), ("i", "container-1-request-1")],
        ),
        # and requests those that it needs in addition.
        (
            [container("i", 3)],
            [container("a", 1)],
            {"container-0-request-1": 2, "container-1-request-1": 1},
            [("a", "container-1-request-1"), ("i", "container-1-request-1"), ("i", "container-0-request-1")],
        ),
        # Init containers share the largest of these requests.
        (
            [container("i", 2), container("j", 4)],
            [container("a", 0)],
            {"container-1-request-1": 4},
            [("i", "container-1-request-1"), ("j", "container-1-request-1")],
        ),
        # A sidecar keeps its devices, and init containers before it may reuse them.
        (
            [container("i", 1), container("s", 1, restartPolicy="Always"), container("j", 1)],
            [container("a", 0)],
            {"container-1-request-1": 1, "container-2-request-1": 1},
            [("s", "container-1-request-1"), ("i", "container-1-request-1"), ("j", "container-2-request-1")],
        ),
    ],
)
def test_extended_claim_has_requests_per_container(
    starting: list[Tree], running: list[Tree], requests: dict[str, int], mappings: list[tuple[str, str]]
) -> None:
    created = extended_claim_for(PodInfo(pod("p", containers=running, initContainers=starting)), [GPU], {GPU: "gpu"})
    by_name = {request.name: request.exactly.count for request in created.claim.spec.devices.requests}
    assert by_name == requests
    assert list(by_name) == sorted(by_name)
    assert [(mapping["containerName"], mapping["requestName"]) for mapping in created.mappings] == mappings


def test_newest_device_class_provides_an_extended_resource() -> None:
    old, new, twin = (device_class(name, extendedResourceName=GPU) for name in ("old", "new", "a-twin"))
    for created, seconds in ((old, 0), (new, 5), (twin, 5)):
        created.metadata.creationTimestamp = at(seconds)  # type: ignore[union-attr]
    served = extended_resource_classes([old, new, twin])
    assert served[GPU] == "a-twin"
    assert served["deviceclass.resource.kubernetes.io/old"] == "old"


# Filtering of nodes


def test_extended_resource_is_allocated_from_devices() -> None:
    new_world = world(slice_("s", "a", "b", node="n0"), SERVED)
    new_world.add(pod_requesting(gpus=2))
    placed = new_world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert placed.devices.extended is not None
    extended, devices = placed.devices.extended
    assert extended.claim.metadata.generateName == "p-extended-resources-"
    assert extended.claim.metadata.ownerReferences[0].uid == placed.queued.pod.uid
    assert [(result.request, result.device) for result in devices.devices.results] == [
        ("container-0-request-0", "a"), ("container-0-request-0", "b"),
    ]  # fmt: skip
    assert list(extended.mappings) == [
        {"containerName": "c", "resourceName": GPU, "requestName": "container-0-request-0"}
    ]


def test_device_plugin_resources_take_precedence_over_devices() -> None:
    new_world = world(slice_("s", "a", node="n0"), SERVED, nodes=0)
    new_world.core.set_node(node("n", allocatable={GPU: "1"}))
    new_world.add(pod_requesting())
    placed = new_world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert placed.devices.extended is None
    assert "1 Insufficient example.com/gpu" in new_world.schedule(pod_requesting("q"))


def test_pending_extended_devices_are_not_allocated_twice() -> None:
    new_world = world(slice_("s", "a"), SERVED, claim("c"))
    new_world.add(pod_requesting())
    placed = new_world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert "1 cannot allocate all claims" in new_world.schedule(pod_with_claims("q", "c"))
    new_world.core.binding_failed(placed)
    new_world.core.remove_deleted_pod(placed.queued.pod.uid)
    new_world.now = 400
    new_world.core.queue.flush_unschedulable(new_world.now)
    assert isinstance(new_world.schedule_one(), AssumedPod)


def test_pending_extended_claim_holds_until_the_watch_delivers_it() -> None:
    new_world = world(slice_("s", "a"), SERVED)
    new_world.add(pod_requesting())
    placed = new_world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert placed.devices.extended is not None
    extended, devices = placed.devices.extended
    new_world.core.binding_succeeded(placed)
    usage = new_world.core.devices.usage.devices
    assert sum(usage.values()) == 1
    seen = claim("made", status={"allocation": msgspec.to_builtins(devices)})
    seen.metadata.annotations = extended.claim.metadata.annotations  # type: ignore[union-attr]
    seen.metadata.ownerReferences = extended.claim.metadata.ownerReferences  # type: ignore[union-attr]
    new_world.core.devices.put_claim(seen)
    assert sum(usage.values()) == 1
    new_world.core.devices.remove_claim(seen)
    assert not usage


def test_pending_extended_claim_holds_during_the_write_when_the_pod_is_deleted() -> None:
    new_world = world(slice_("s", "a"), SERVED, claim("c"))
    new_world.add(pod_requesting())
    placed = new_world.schedule_one()
    assert isinstance(placed, AssumedPod)
    new_world.core.remove_deleted_pod(placed.queued.pod.uid)
    assert "1 cannot allocate all claims" in new_world.schedule(pod_with_claims("q", "c"))
    new_world.core.binding_failed(placed)
    assert isinstance(new_world.schedule_one(), AssumedPod)


def test_device_class_provides_its_implicit_extended_resource() -> None:
    new_world = world(slice_("s", "a"))
    placed = new_world.schedule(pod_requesting(resource="deviceclass.resource.kubernetes.io/gpu"))
    assert placed == "n0"


def test_new_device_class_requeues_unschedulable_pods() -> None:
    new_world = world(slice_("s", "a"))
    assert "1 Insufficient example.com/gpu" in new_world.fail(pod_requesting()).message
    new_world.now = 20
    new_world.core.set_device_class("gpu", SERVED)
    assert isinstance(new_world.schedule_one(), AssumedPod)


def test_left_over_extended_claim_is_deleted_first() -> None:
    waiting = pod_requesting()
    new_world = world(slice_("s", "a"), SERVED)
    extended = extended_claim_for(PodInfo(waiting), [GPU], {GPU: "gpu"}).claim
    extended.metadata.name, extended.metadata.uid = "left-over", "u"
    new_world.core.devices.put_claim(extended)
    failed = new_world.fail(waiting)
    assert "1 cannot schedule extended resource claim. deletion of ResourceClaim completed" in failed.message
    assert failed.post_filter_result.delete is extended


# Binding conditions


def bound(*, conditions: Tree | None = None, since: int = 0, **rest: Any) -> Any:
    result = {
        "request": "r",
        "driver": "gpu.example.com",
        "pool": "s",
        "device": "a",
        "bindingConditions": ["Attached"],
        "bindingFailureConditions": ["Broken"],
    }
    device_conditions = [
        {"type": name, "status": status, "reason": "R", "message": "M", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for name, status in (conditions or {}).items()
    ]
    devices = (
        []
        if conditions is None
        else [{**{k: result[k] for k in ("driver", "pool", "device")}, "conditions": device_conditions}]
    )
    allocation = {"devices": {"results": [result]}, "allocationTimestamp": at(since)}
    return claim("c", status={"allocation": allocation, "devices": devices, **rest})


def test_devices_are_ready_when_all_binding_conditions_are_true() -> None:
    assert not is_ready(bound())
    assert not is_ready(bound(conditions={"Attached": "False"}))
    assert is_ready(bound(conditions={"Attached": "True"}))
    with pytest.raises(BindingFailedError, match='claim c binding failed: reason=R, message="M"'):
        is_ready(bound(conditions={"Attached": "True", "Broken": "True"}))


def test_device_binding_times_out() -> None:
    assert not is_overdue(bound(), now=at(600), timeout_seconds=600)
    assert is_overdue(bound(), now=at(601), timeout_seconds=600)


@pytest.mark.parametrize(("lost", "now"), [(bound(conditions={"Broken": "True"}), 1), (bound(), 601)])
def test_claim_is_deallocated_when_device_binding_fails(lost: Any, now: int) -> None:
    new_world = world(slice_("s", "a"), lost)
    new_world.now = now
    failed = new_world.fail(pod_with_claims("p", "c"))
    assert "1 resourceclaim not available on the node. deallocation of ResourceClaim completed" in failed.message
    assert failed.post_filter_result.deallocate is lost


def test_claim_with_pending_binding_conditions_is_kept() -> None:
    assert world(slice_("s", "a"), bound()).schedule(pod_with_claims("p", "c")) == "n0"


def test_devices_with_binding_conditions_are_tried_last() -> None:
    slow = {"name": "slow", "bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    new_world = world(slice_("a", slow), slice_("b", "quick"), claim("c"))
    new_world.add(pod_with_claims("p", "c"))
    placed = new_world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert [result.device for result in placed.devices.allocate[0][1].devices.results] == ["quick"]
