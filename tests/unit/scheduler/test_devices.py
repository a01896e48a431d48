"""Devices are found for claims, written down, and not found where there are none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.scheduler.devices import cel, claim, device_class, exactly, slice_, using, world
from tests.unit.scheduler.world import World, node, pod

from steersman.scheduler.brain import Failed, Placed
from steersman.scheduler.pod_info import PodInfo

Tree = dict[str, Any]
NO_HELP = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def given(made: World, *claims: str) -> list[list[str]] | str:
    """What each claim of a new pod gets, device by device; or why the pod gets no node."""
    made.add(using("p", *claims))
    result = made.attempt()
    if isinstance(result, Placed):
        return [[each.device for each in allocation.devices.results] for _, allocation in result.devices.allocate]
    assert isinstance(result, Failed)
    return result.message


def allocation(made: World, *claims: str) -> Any:
    made.add(using("p", *claims))
    result = made.attempt()
    assert isinstance(result, Placed)
    return result.devices.allocate[0][1]


CANNOT = f"0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, {NO_HELP}"


def test_a_claim_gets_the_first_free_device_and_binds_the_pod_to_its_node() -> None:
    made = world(slice_("s", "a", "b", node="n1"), claim("c"), nodes=3)
    made.add(using("p", "c"))
    result = made.attempt()
    assert isinstance(result, Placed)
    assert result.node == "n1"
    (written,) = [each for _, each in result.devices.allocate]
    assert [(each.request, each.device) for each in written.devices.results] == [("r", "a")]
    (term,) = written.nodeSelector.nodeSelectorTerms
    assert term.matchFields[0].values == ["n1"]


def test_devices_that_are_promised_are_not_given_twice() -> None:
    made = world(slice_("s", "a"), claim("c0"), claim("c1"))
    assert given(made, "c0") == [["a"]]
    assert given(made, "c1") == CANNOT


def test_devices_given_back_serve_the_next() -> None:
    made = world(slice_("s", "a"), claim("c0"), claim("c1"))
    made.add(using("p", "c0"))
    placed = made.attempt()
    assert isinstance(placed, Placed)
    made.brain.not_bound(placed)
    made.brain.queue.remove(placed.queued.pod.uid)
    assert given(made, "c1") == [["a"]]


def test_what_was_written_counts_before_the_watch_tells_it_and_an_older_state_does_not() -> None:
    before, other = claim("c0"), claim("c1")
    results = [{"request": "r", "driver": "gpu.example.com", "pool": "s", "device": "a"}]
    after = claim("c0", status={"allocation": {"devices": {"results": results}}})
    made = world(slice_("s", "a"), before, other)
    made.brain.devices.written(after)
    assert not made.brain.devices.put_claim(before)
    assert given(made, "c1") == CANNOT
    made.brain.devices.remove_claim(after)
    made.brain.devices.written(after)  # too late
    assert made.brain.devices.usage.devices == {}


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
def test_selectors_choose(expression: str, expected: Any) -> None:
    def device(name: str, model: str, version: str, memory: str, rack: int) -> Tree:
        attributes = {
            "model": {"string": model},
            "version": {"version": version},
            "vendor.example.org/rack": {"int": rack},
        }
        return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": memory}}}

    offered = slice_("s", device("a", "small", "1.2.3", "1Gi", 6), device("b", "big", "1.10.0", "4Gi", 7))
    assert given(world(offered, claim("c", exactly(selectors=cel(expression)))), "c") == expected
    assert given(world(offered, device_class("gpu", expression), claim("c")), "c") == expected


def test_a_selector_that_fails_is_told_and_tried_again_by_itself() -> None:
    made = world(slice_("s", "a"), claim("c", exactly(selectors=cel('device.attributes["gpu.example.com"].x == 1'))))
    failed = made.fail(using("p", "c"))
    assert failed.is_fault
    assert failed.message == (
        'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL runtime error: no such key: x'
    )
    assert made.brain.queue.next_due == 1.0


def test_count_and_all() -> None:
    assert given(world(slice_("s", "a", "b", "c"), claim("c", exactly(count=2))), "c") == [["a", "b"]]
    assert given(world(slice_("s", "a", "b"), claim("c", exactly(count=3))), "c") == CANNOT
    assert given(world(slice_("s", "a", "b"), claim("c", exactly(allocationMode="All"))), "c") == [["a", "b"]]
    assert given(world(claim("c", exactly(allocationMode="All"))), "c") == CANNOT
    made = world(slice_("s", "a", "b"), claim("c0"), claim("c1", exactly(allocationMode="All")))
    assert given(made, "c0") == [["a"]]
    assert given(made, "c1") == CANNOT


def test_more_devices_than_a_claim_may_have_are_not_given() -> None:
    devices = [f"d{number}" for number in range(40)]
    assert given(world(slice_("s", *devices), claim("c", exactly(count=33))), "c") == CANNOT


def test_a_pool_that_is_being_changed_is_not_taken_as_a_whole() -> None:
    made = world(slice_("s", "a", count=2), claim("c", exactly(allocationMode="All")))
    failed = made.fail(using("p", "c"))
    assert failed.is_fault
    assert failed.message.endswith(
        "claim default/c, request r: asks for all devices, but resource pool gpu.example.com/s is currently being updated"
    )


def test_only_the_latest_generation_of_a_pool_counts() -> None:
    made = world(slice_("old", "a", pool="p"), slice_("new", "b", pool="p", generation=2), claim("c"))
    assert given(made, "c") == [["b"]]


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
def test_pools_that_are_wrong_or_incomplete_give_nothing_and_others_do(offered: list[Any], fault: str) -> None:
    assert given(world(*offered, claim("c")), "c") == CANNOT
    assert given(world(*offered, slice_("z", "b"), claim("c")), "c") == [["b"]]
    made = world(*offered, claim("c", exactly(allocationMode="All")))
    (pool,) = (each for each, _ in made.brain.devices.pools.on(made.brain.cluster.nodes[0]))
    assert pool.fault == fault
    assert made.fail(using("p", "c")).message.endswith(f"is currently {'invalid' if fault else 'being updated'}")


def test_the_first_alternative_that_can_be_had_is_taken_and_liked() -> None:
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
    made = world(*offers, claim("c", request), claim("d", request), nodes=2)
    assert allocation(made, "c").devices.results[0].request == "r/big"
    assert allocation(made, "d").devices.results[0].request == "r/small"


def test_constraints_make_the_search_go_back() -> None:
    def device(name: str, numa: int) -> Tree:
        return {"name": name, "attributes": {"numa": {"int": numa}}}

    offered = slice_("s", device("a", 0), device("b", 1), device("c", 1), "without")
    same = [{"matchAttribute": "gpu.example.com/numa"}]
    distinct = [{"distinctAttribute": "gpu.example.com/numa"}]
    assert given(world(offered, claim("c", exactly(count=2), constraints=same)), "c") == [["b", "c"]]
    assert given(world(offered, claim("c", exactly(count=3), constraints=same)), "c") == CANNOT
    assert given(world(offered, claim("c", exactly(count=2), constraints=distinct)), "c") == [["a", "b"]]
    some = [{"matchAttribute": "gpu.example.com/numa", "requests": ["x", "y"]}]
    requests = [exactly("x"), exactly("y"), exactly("z")]
    assert given(world(offered, claim("c", *requests, constraints=some)), "c") == [["b", "c", "a"]]


def test_a_search_without_end_is_given_up() -> None:
    devices = [{"name": f"d{n}", "attributes": {"n": {"int": n // 2}}} for n in range(64)]
    made = world(
        slice_("s", *devices), claim("c", *(exactly(f"r{n}") for n in range(31)), exactly("last", count=2), constraints=[{"distinctAttribute": "gpu.example.com/n"}])
    )  # fmt: skip
    assert "timed out trying to allocate devices" in given(made, "c")


def test_admins_see_devices_that_others_use() -> None:
    made = world(slice_("s", "a"), claim("c0"), claim("c1", exactly(adminAccess=True)), claim("c2"))
    assert given(made, "c0") == [["a"]]
    written = allocation(made, "c1")
    assert written.devices.results[0].adminAccess
    assert given(made, "c2") == CANNOT


def test_tainted_devices_need_tolerations_and_these_are_written_down() -> None:
    offered = slice_("s", {"name": "a", "taints": [{"key": "broken", "effect": "NoSchedule"}]})
    assert given(world(offered, claim("c")), "c") == CANNOT
    tolerant = claim("c", exactly(tolerations=[{"operator": "Exists"}]))
    assert allocation(world(offered, tolerant), "c").devices.results[0].tolerations[0].operator == "Exists"


def test_selectors_of_slices_and_devices_limit_the_nodes() -> None:
    terms = [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["7"]}]}]
    made = world(slice_("s", "a", nodeSelector={"nodeSelectorTerms": terms}), claim("c"), nodes=2)
    made.brain.set_node(node("far", labels={"rack": "7"}))
    made.add(using("p", "c"))
    result = made.attempt()
    assert isinstance(result, Placed)
    assert result.node == "far"
    (term,) = result.devices.allocate[0][1].nodeSelector.nodeSelectorTerms
    assert term.matchExpressions[0].key == "rack"
    each = slice_("s", {"name": "a", "nodeName": "n1"}, {"name": "b", "allNodes": True}, perDeviceNodeSelection=True)
    assert given(world(each, claim("c")), "c") == [["b"]]


def test_devices_everywhere_bind_to_no_node() -> None:
    assert allocation(world(slice_("s", "a"), claim("c")), "c").nodeSelector is None


def test_shared_counters_limit_what_a_pool_gives() -> None:
    def part(name: str, memory: str) -> Tree:
        return {"name": name, "consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": memory}}}]}

    counters = [{"name": "gpu", "counters": {"memory": {"value": "4Gi"}}}]
    made = world(
        slice_("s", part("whole", "4Gi"), part("half", "2Gi"), part("other", "2Gi"), sharedCounters=counters),
        claim("c", exactly(count=2)), claim("d"),
    )  # fmt: skip
    assert given(made, "c") == [["half", "other"]]
    assert given(made, "d") == CANNOT


def test_shared_devices_are_given_in_parts() -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "512Mi", "max": "3Gi"}}
    device = {
        "name": "a",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "4Gi", "requestPolicy": policy}},
    }
    asking = claim("c1", exactly(capacity={"requests": {"memory": "2200Mi"}}))
    made = world(slice_("s", device), claim("c0"), asking, claim("c2"))
    first, second = allocation(made, "c0").devices.results[0], allocation(made, "c1").devices.results[0]
    assert (first.consumedCapacity, second.consumedCapacity) == ({"memory": "1Gi"}, {"memory": "2560Mi"})
    assert first.shareID != second.shareID
    assert given(made, "c2") == CANNOT


@pytest.mark.parametrize(
    ("policy", "wanted", "fits"),
    [
        ({}, "5Gi", False),
        ({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}, "1500Mi", True),
        ({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}, "3Gi", False),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "2Gi"}}, "3Gi", False),
        ({"default": "1Gi", "validRange": {"min": "1Gi"}}, "1Mi", True),
    ],
)
def test_capacity_is_asked_for_within_its_policy(policy: Tree, wanted: str, fits: bool) -> None:
    device = {"name": "a", "capacity": {"memory": {"value": "4Gi", "requestPolicy": policy}}}
    asking = claim("c", exactly(capacity={"requests": {"memory": wanted}}))
    assert (given(world(slice_("s", device), asking), "c") == [["a"]]) is fits


def test_what_drivers_are_told_goes_with_the_devices() -> None:
    def opaque(value: str) -> Tree:
        return {"opaque": {"driver": "gpu.example.com", "parameters": {"is": value}}}

    configured = device_class("gpu", config=[opaque("class")])
    config = [opaque("all"), {**opaque("one"), "requests": ["x"]}, {**opaque("none"), "requests": ["gone"]}]
    written = allocation(
        world(slice_("s", "a", "b"), configured, claim("c", exactly("x"), exactly("y"), config=config)), "c"
    )
    told = [(each.source, each.requests, each.opaque.parameters["is"]) for each in written.devices.config]
    assert told == [("FromClass", ["x", "y"], "class"), ("FromClaim", None, "all"), ("FromClaim", ["x"], "one")]


# Claims that cannot be used


def test_pods_wait_for_their_claims_without_being_tried() -> None:
    made = world(slice_("s", "a"))
    waiting = using("p", "c")
    made.add(waiting)
    assert made.attempt() is None
    assert made.brain.queue.counts()["gated"] == 1
    made.brain.devices.put_claim(claim("c"))
    made.brain.queue.open_gates()
    assert isinstance(made.attempt(), Placed)


def test_a_claim_of_a_template_is_known_by_the_status_of_the_pod() -> None:
    made = world(slice_("s", "a"))
    entry = [{"name": "d", "resourceClaimTemplateName": "t"}]
    statuses = [{"name": "d", "resourceClaimName": "p-d-x"}]
    waiting = pod("p", resourceClaims=entry)
    rule = made.brain._dynamic["default-scheduler"]
    assert rule.holds_back(PodInfo(waiting)) == 'pod "default/p": ResourceClaim not created yet'
    told = pod("p", resourceClaims=entry, status={"resourceClaimStatuses": statuses})
    made.brain.devices.put_claim(claim("p-d-x"))
    assert "(pod is not owner)" in rule.holds_back(PodInfo(told))
    needless = pod("p", resourceClaims=entry, status={"resourceClaimStatuses": [{"name": "d"}]})
    assert made.schedule(needless) == "n0"


def test_a_class_must_be_there() -> None:
    made = world(slice_("s", "a"), claim("c", exactly(deviceClassName="none")))
    text = "0/1 nodes are available: request r: device class none does not exist. still not schedulable, "
    assert given(made, "c") == text + NO_HELP


def test_a_claim_that_is_being_given_devices_waits() -> None:
    made = world(slice_("s", "a"), claim("c"))
    assert given(made, "c") == [["a"]]
    assert "resource claim default/c is in the process of being allocated" in given(made, "c")


def test_a_claim_serves_so_many_pods_and_no_more() -> None:
    def shared(consumers: int) -> Any:
        users = [{"name": f"u{n}", "resource": "pods", "uid": f"u{n}"} for n in range(consumers)]
        return claim("c", status={"allocation": {"devices": {"results": []}}, "reservedFor": users})

    assert given(world(shared(256)), "c").startswith("0/1 nodes are available: resourceclaim in use.")
    made = world(shared(255))
    made.add(using("p", "c"))
    result = made.attempt()
    assert isinstance(result, Placed)
    assert [each.metadata.name for each in result.devices.reserve] == ["c"]


def test_an_unused_claim_on_a_node_without_room_is_given_back() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]
    allocated = {"devices": {"results": []}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    idle = claim("c", status={"allocation": allocated})
    failed = world(idle).fail(using("p", "c"))
    assert failed.message.startswith(
        "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of ResourceClaim completed, "
    )
    assert failed.remedy.deallocate is idle
    users = [{"name": "u", "resource": "pods", "uid": "u"}]
    busy = claim("c", status={"allocation": allocated, "reservedFor": users})
    assert world(busy).fail(using("p", "c")).remedy.deallocate is None
