"""Allocation of devices to ResourceClaims."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.scheduler.devices import cel, claim, device_class, exactly, pod_with_claims, slice_, world
from tests.unit.scheduler.world import World, node, pod

from steersman.apimachinery.trees import Tree
from steersman.scheduler.core import AssumedPod, UnschedulablePod
from steersman.scheduler.pod_info import PodInfo

NO_HELP = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def allocated_devices(obj: World, *claims: str) -> list[list[str]] | str:
    """Return the devices of each claim of a new pod, or the reason why it is unschedulable."""
    obj.add(pod_with_claims("p", *claims))
    result = obj.schedule_one()
    if isinstance(result, AssumedPod):
        return [[result.device for result in allocation.devices.results] for _, allocation in result.devices.allocate]
    assert isinstance(result, UnschedulablePod)
    return result.message


def allocation(obj: World, *claims: str) -> Any:
    obj.add(pod_with_claims("p", *claims))
    result = obj.schedule_one()
    assert isinstance(result, AssumedPod)
    return result.devices.allocate[0][1]


CANNOT = f"0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, {NO_HELP}"


def test_claim_is_allocated_the_first_free_device_of_the_node() -> None:
    new_world = world(slice_("s", "a", "b", node="n1"), claim("c"), nodes=3)
    new_world.add(pod_with_claims("p", "c"))
    result = new_world.schedule_one()
    assert isinstance(result, AssumedPod)
    assert result.node == "n1"
    (written,) = [item for _, item in result.devices.allocate]
    assert [(result.request, result.device) for result in written.devices.results] == [("r", "a")]
    (term,) = written.nodeSelector.nodeSelectorTerms
    assert term.matchFields[0].values == ["n1"]


def test_pending_devices_are_not_allocated_twice() -> None:
    new_world = world(slice_("s", "a"), claim("c0"), claim("c1"))
    assert allocated_devices(new_world, "c0") == [["a"]]
    assert allocated_devices(new_world, "c1") == CANNOT


def test_deallocated_devices_are_reused() -> None:
    new_world = world(slice_("s", "a"), claim("c0"), claim("c1"))
    new_world.add(pod_with_claims("p", "c0"))
    placed = new_world.schedule_one()
    assert isinstance(placed, AssumedPod)
    new_world.core.binding_failed(placed)
    new_world.core.queue.remove(placed.queued.pod.uid)
    assert allocated_devices(new_world, "c1") == [["a"]]


def test_written_claim_counts_before_its_watch_event_and_older_versions_are_ignored() -> None:
    before, other = claim("c0"), claim("c1")
    results = [{"request": "r", "driver": "gpu.example.com", "pool": "s", "device": "a"}]
    after = claim("c0", status={"allocation": {"devices": {"results": results}}})
    new_world = world(slice_("s", "a"), before, other)
    new_world.core.devices.written(after)
    assert not new_world.core.devices.put_claim(before)
    assert allocated_devices(new_world, "c1") == CANNOT
    new_world.core.devices.remove_claim(after)
    new_world.core.devices.written(after)  # an outdated version
    assert new_world.core.devices.usage.devices == {}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["gpu.example.com"].model == "big"', [["b"]]),
        ('device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.9.0"))', [["b"]]),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("2Gi")) >= 0', [["b"]]),
        ('device.attributes["vendor.example.org"].rack == 7', [["b"]]),
        ('device.driver == "other"', CANNOT),
        ("!device.allowMultipleAllocations", [["a"]]),
    ],
)
def test_cel_selectors_filter_devices(expression: str, expected: Any) -> None:
    def device(name: str, model: str, version: str, memory: str, rack: int) -> Tree:
        attributes = {
            "model": {"string": model},
            "version": {"version": version},
            "vendor.example.org/rack": {"int": rack},
        }
        return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": memory}}}

    offered = slice_("s", device("a", "small", "1.2.3", "1Gi", 6), device("b", "big", "1.10.0", "4Gi", 7))
    assert allocated_devices(world(offered, claim("c", exactly(selectors=cel(expression)))), "c") == expected
    assert allocated_devices(world(offered, device_class("gpu", expression), claim("c")), "c") == expected


def test_failing_selector_is_reported_and_the_pod_is_retried() -> None:
    new_world = world(
        slice_("s", "a"), claim("c", exactly(selectors=cel('device.attributes["gpu.example.com"].x == 1')))
    )
    failed = new_world.fail(pod_with_claims("p", "c"))
    assert failed.is_fault
    assert failed.message == (
        'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL runtime error: no such key: x'
    )
    assert new_world.core.queue.next_backoff_end == 1.0


def test_requests_allocate_a_count_or_all_devices() -> None:
    assert allocated_devices(world(slice_("s", "a", "b", "c"), claim("c", exactly(count=2))), "c") == [["a", "b"]]
    assert allocated_devices(world(slice_("s", "a", "b"), claim("c", exactly(count=3))), "c") == CANNOT
    assert allocated_devices(world(slice_("s", "a", "b"), claim("c", exactly(allocationMode="All"))), "c") == [
        ["a", "b"]
    ]
    assert allocated_devices(world(claim("c", exactly(allocationMode="All"))), "c") == CANNOT
    new_world = world(slice_("s", "a", "b"), claim("c0"), claim("c1", exactly(allocationMode="All")))
    assert allocated_devices(new_world, "c0") == [["a"]]
    assert allocated_devices(new_world, "c1") == CANNOT


def test_claim_cannot_exceed_the_maximum_number_of_devices() -> None:
    devices = [f"d{number}" for number in range(40)]
    assert allocated_devices(world(slice_("s", *devices), claim("c", exactly(count=33))), "c") == CANNOT


def test_allocation_mode_all_fails_on_an_incomplete_pool() -> None:
    new_world = world(slice_("s", "a", count=2), claim("c", exactly(allocationMode="All")))
    failed = new_world.fail(pod_with_claims("p", "c"))
    assert failed.is_fault
    assert failed.message.endswith(
        "claim default/c, request r: asks for all devices, but resource pool gpu.example.com/s is currently being updated"
    )


def test_pool_uses_its_latest_generation() -> None:
    new_world = world(slice_("old", "a", pool="p"), slice_("new", "b", pool="p", generation=2), claim("c"))
    assert allocated_devices(new_world, "c") == [["b"]]


COUNTERS = [{"name": "gpu", "counters": {"memory": {"value": "4Gi"}}}]


def counting(name: str, counter_set: str, counter: str) -> Tree:
    return {"name": name, "consumesCounters": [{"counterSet": counter_set, "counters": {counter: {"value": "1Gi"}}}]}


@pytest.mark.parametrize(
    ("offered", "fault"),
    [
        ([slice_("s1", "a", pool="p", count=2), slice_("s2", "a", pool="p", count=2)], "duplicate device name a"),
        ([slice_("s", counting("a", "cpu", "memory"), sharedCounters=COUNTERS)], "counter set cpu not found"),
        (
            [slice_("s", counting("a", "gpu", "cores"), sharedCounters=COUNTERS)],
            "counter cores not found in counter set gpu",
        ),
        ([slice_("s", "a", sharedCounters=COUNTERS * 2)], "duplicate counter set name gpu"),
        ([slice_("s", "a", count=2)], ""),
    ],
)
def test_invalid_and_incomplete_pools_are_skipped(offered: list[Any], fault: str) -> None:
    assert allocated_devices(world(*offered, claim("c")), "c") == CANNOT
    assert allocated_devices(world(*offered, slice_("z", "b"), claim("c")), "c") == [["b"]]
    new_world = world(*offered, claim("c", exactly(allocationMode="All")))
    (pool,) = (result for result, _ in new_world.core.devices.pools.on(new_world.core.cluster.nodes[0]))
    assert pool.fault == fault
    assert new_world.fail(pod_with_claims("p", "c")).message.endswith(
        f"is currently {'invalid' if fault else 'being updated'}"
    )


def test_first_available_subrequest_is_chosen_and_scored() -> None:
    big, small = (
        cel('device.attributes["gpu.example.com"].size == 2'),
        cel('device.attributes["gpu.example.com"].size == 1'),
    )
    request = {
        "name": "r",
        "firstAvailable": [
            {"name": "big", "deviceClassName": "gpu", "selectors": big},
            {"name": "small", "deviceClassName": "gpu", "selectors": small},
        ],
    }
    offers = [
        slice_("s0", {"name": "a", "attributes": {"size": {"int": 1}}}, node="n0"),
        slice_("s1", {"name": "b", "attributes": {"size": {"int": 2}}}, node="n1"),
    ]
    new_world = world(*offers, claim("c", request), claim("d", request), nodes=2)
    assert allocation(new_world, "c").devices.results[0].request == "r/big"
    assert allocation(new_world, "d").devices.results[0].request == "r/small"


def test_allocator_backtracks_over_constraints() -> None:
    def device(name: str, numa: int) -> Tree:
        return {"name": name, "attributes": {"numa": {"int": numa}}}

    offered = slice_("s", device("a", 0), device("b", 1), device("c", 1), "without")
    same = [{"matchAttribute": "gpu.example.com/numa"}]
    distinct = [{"distinctAttribute": "gpu.example.com/numa"}]
    assert allocated_devices(world(offered, claim("c", exactly(count=2), constraints=same)), "c") == [["b", "c"]]
    assert allocated_devices(world(offered, claim("c", exactly(count=3), constraints=same)), "c") == CANNOT
    assert allocated_devices(world(offered, claim("c", exactly(count=2), constraints=distinct)), "c") == [["a", "b"]]
    some = [{"matchAttribute": "gpu.example.com/numa", "requests": ["x", "y"]}]
    requests = [exactly("x"), exactly("y"), exactly("z")]
    assert allocated_devices(world(offered, claim("c", *requests, constraints=some)), "c") == [["b", "c", "a"]]


def test_allocator_stops_at_its_attempt_limit() -> None:
    devices = [{"name": f"d{n}", "attributes": {"n": {"int": n // 2}}} for n in range(64)]
    new_world = world(
        slice_("s", *devices), claim("c", *(exactly(f"r{n}") for n in range(31)), exactly("last", count=2), constraints=[{"distinctAttribute": "gpu.example.com/n"}])
    )  # fmt: skip
    assert "timed out trying to allocate devices" in allocated_devices(new_world, "c")


def test_admin_access_allocates_devices_in_use() -> None:
    new_world = world(slice_("s", "a"), claim("c0"), claim("c1", exactly(adminAccess=True)), claim("c2"))
    assert allocated_devices(new_world, "c0") == [["a"]]
    written = allocation(new_world, "c1")
    assert written.devices.results[0].adminAccess
    assert allocated_devices(new_world, "c2") == CANNOT


def test_tainted_devices_need_tolerations_which_are_recorded() -> None:
    offered = slice_("s", {"name": "a", "taints": [{"key": "broken", "effect": "NoSchedule"}]})
    assert allocated_devices(world(offered, claim("c")), "c") == CANNOT
    tolerant = claim("c", exactly(tolerations=[{"operator": "Exists"}]))
    assert allocation(world(offered, tolerant), "c").devices.results[0].tolerations[0].operator == "Exists"


def test_node_selectors_of_slices_and_devices_restrict_nodes() -> None:
    terms = [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["7"]}]}]
    new_world = world(slice_("s", "a", nodeSelector={"nodeSelectorTerms": terms}), claim("c"), nodes=2)
    new_world.core.set_node(node("far", labels={"rack": "7"}))
    new_world.add(pod_with_claims("p", "c"))
    result = new_world.schedule_one()
    assert isinstance(result, AssumedPod)
    assert result.node == "far"
    (term,) = result.devices.allocate[0][1].nodeSelector.nodeSelectorTerms
    assert term.matchExpressions[0].key == "rack"
    item = slice_("s", {"name": "a", "nodeName": "n1"}, {"name": "b", "allNodes": True}, perDeviceNodeSelection=True)
    assert allocated_devices(world(item, claim("c")), "c") == [["b"]]


def test_devices_of_all_nodes_set_no_node_selector() -> None:
    assert allocation(world(slice_("s", "a"), claim("c")), "c").nodeSelector is None


def test_shared_counters_limit_allocation() -> None:
    def part(name: str, memory: str) -> Tree:
        return {"name": name, "consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": memory}}}]}

    counters = [{"name": "gpu", "counters": {"memory": {"value": "4Gi"}}}]
    new_world = world(
        slice_("s", part("whole", "4Gi"), part("half", "2Gi"), part("other", "2Gi"), sharedCounters=counters),
        claim("c", exactly(count=2)), claim("d"),
    )  # fmt: skip
    assert allocated_devices(new_world, "c") == [["half", "other"]]
    assert allocated_devices(new_world, "d") == CANNOT


def test_consumable_capacity_is_shared_between_claims() -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "512Mi", "max": "3Gi"}}
    device = {
        "name": "a",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "4Gi", "requestPolicy": policy}},
    }
    requested_claim = claim("c1", exactly(capacity={"requests": {"memory": "2200Mi"}}))
    new_world = world(slice_("s", device), claim("c0"), requested_claim, claim("c2"))
    first, second = allocation(new_world, "c0").devices.results[0], allocation(new_world, "c1").devices.results[0]
    assert (first.consumedCapacity, second.consumedCapacity) == ({"memory": "1Gi"}, {"memory": "2560Mi"})
    assert first.shareID != second.shareID
    assert allocated_devices(new_world, "c2") == CANNOT


@pytest.mark.parametrize(
    ("policy", "requested", "fits"),
    [
        ({}, "5Gi", False),
        ({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}, "1500Mi", True),
        ({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}, "3Gi", False),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "2Gi"}}, "3Gi", False),
        ({"default": "1Gi", "validRange": {"min": "1Gi"}}, "1Mi", True),
    ],
)
def test_capacity_requests_follow_the_request_policy(policy: Tree, requested: str, fits: bool) -> None:
    device = {"name": "a", "capacity": {"memory": {"value": "4Gi", "requestPolicy": policy}}}
    requested_claim = claim("c", exactly(capacity={"requests": {"memory": requested}}))
    assert (allocated_devices(world(slice_("s", device), requested_claim), "c") == [["a"]]) is fits


def test_allocation_includes_driver_configuration() -> None:
    def opaque(value: str) -> Tree:
        return {"opaque": {"driver": "gpu.example.com", "parameters": {"is": value}}}

    configured = device_class("gpu", config=[opaque("class")])
    config = [opaque("all"), {**opaque("one"), "requests": ["x"]}, {**opaque("none"), "requests": ["gone"]}]
    written = allocation(
        world(slice_("s", "a", "b"), configured, claim("c", exactly("x"), exactly("y"), config=config)), "c"
    )
    written_config = [
        (result.source, result.requests, result.opaque.parameters["is"]) for result in written.devices.config
    ]
    assert written_config == [
        ("FromClass", ["x", "y"], "class"),
        ("FromClaim", None, "all"),
        ("FromClaim", ["x"], "one"),
    ]


# Unusable claims


def test_pod_is_gated_until_its_claims_exist() -> None:
    new_world = world(slice_("s", "a"))
    waiting = pod_with_claims("p", "c")
    new_world.add(waiting)
    assert new_world.schedule_one() is None
    assert new_world.core.queue.counts()["gated"] == 1
    new_world.core.devices.put_claim(claim("c"))
    new_world.core.queue.recheck_gated("ForceActivate")
    assert isinstance(new_world.schedule_one(), AssumedPod)


def test_templated_claim_is_resolved_by_the_pod_status() -> None:
    new_world = world(slice_("s", "a"))
    entry = [{"name": "d", "resourceClaimTemplateName": "t"}]
    statuses = [{"name": "d", "resourceClaimName": "p-d-x"}]
    waiting = pod("p", resourceClaims=entry)
    plugin = new_world.core._dynamic["default-scheduler"]
    assert plugin.pre_enqueue(PodInfo(waiting)) == 'pod "default/p": ResourceClaim not created yet'
    created = pod("p", resourceClaims=entry, status={"resourceClaimStatuses": statuses})
    new_world.core.devices.put_claim(claim("p-d-x"))
    assert "(pod is not owner)" in plugin.pre_enqueue(PodInfo(created))
    needless = pod("p", resourceClaims=entry, status={"resourceClaimStatuses": [{"name": "d"}]})
    assert new_world.schedule(needless) == "n0"


def test_missing_device_class_is_reported() -> None:
    new_world = world(slice_("s", "a"), claim("c", exactly(deviceClassName="none")))
    text = "0/1 nodes are available: request r: device class none does not exist. still not schedulable, "
    assert allocated_devices(new_world, "c") == text + NO_HELP


def test_claim_with_a_pending_allocation_is_rejected() -> None:
    new_world = world(slice_("s", "a"), claim("c"))
    assert allocated_devices(new_world, "c") == [["a"]]
    assert "resource claim default/c is in the process of being allocated" in allocated_devices(new_world, "c")


def test_claim_has_a_maximum_number_of_consumers() -> None:
    def shared(consumers: int) -> Any:
        users = [{"name": f"u{n}", "resource": "pods", "uid": f"u{n}"} for n in range(consumers)]
        return claim("c", status={"allocation": {"devices": {"results": []}}, "reservedFor": users})

    assert allocated_devices(world(shared(256)), "c").startswith("0/1 nodes are available: resourceclaim in use.")
    new_world = world(shared(255))
    new_world.add(pod_with_claims("p", "c"))
    result = new_world.schedule_one()
    assert isinstance(result, AssumedPod)
    assert [item.metadata.name for item in result.devices.reserve] == ["c"]


def test_unused_claim_is_deallocated_when_its_node_is_full() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]
    allocated = {"devices": {"results": []}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    idle = claim("c", status={"allocation": allocated})
    failed = world(idle).fail(pod_with_claims("p", "c"))
    assert failed.message.startswith(
        "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of ResourceClaim completed, "
    )
    assert failed.post_filter_result.deallocate is idle
    users = [{"name": "u", "resource": "pods", "uid": "u"}]
    busy = claim("c", status={"allocation": allocated, "reservedFor": users})
    assert world(busy).fail(pod_with_claims("p", "c")).post_filter_result.deallocate is None
