from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.resource_v1 import DeviceTaint, DeviceToleration, ResourceClaim, ResourceSlice
from lightkube.models.resource_v1beta2 import DeviceTaintRule

from steersman.client import tree
from steersman.controllers.devicetainteviction.controller import RULES, build
from steersman.controllers.devicetainteviction.plan import (
    Eviction,
    evicted_at,
    evicting_taints,
    eviction,
    is_selected,
    newest,
    pod_keys,
)
from steersman.controllers.devicetainteviction.rule_status import RuleScope, seconds_to_update, status_to_apply

ONCE = (
    "if the effect was NoExecute. This information will not be updated again. "
    "Recreate the DeviceTaintRule to trigger an update."
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEVICE = {"driver": "d.com", "pool": "pool", "device": "gpu"}
EVENT = "DeviceTaintManagerEviction"
POD = ("v1", "Pod", "p")
CLAIM = ("resource.k8s.io/v1", "ResourceClaim", "c")
SLICE = ("resource.k8s.io/v1", "ResourceSlice", "s")


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def taint(effect="NoExecute", *, at=0):
    return {"key": "k", "value": "v", "effect": effect, "timeAdded": later(at).isoformat()}


def devices(*taints, name="gpu", generation=1, slices=1):
    pool = {"name": "pool", "generation": generation, "resourceSliceCount": slices}
    return {"driver": "d.com", "pool": pool, "nodeName": "n", "devices": [{"name": name, "taints": list(taints)}]}


def slice_of(*taints, **more):
    return msgspec.convert({"metadata": {"name": "s"}, "spec": devices(*taints, **more)}, ResourceSlice)


def claim(*tolerations, consumers=("p",)):
    result = {**DEVICE, "request": "r", "tolerations": list(tolerations)}
    reserved = [{"resource": "pods", "name": name, "uid": "u"} for name in consumers]
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
    return msgspec.convert(
        {"metadata": {"name": "c", "namespace": "ns"}, "spec": {}, "status": status}, ResourceClaim
    )  # fmt: skip


def rule(effect="NoExecute", *, at=0, selector=None, conditions=(), generation=1):
    body = {
        "metadata": {"name": "r", "uid": "ru", "generation": generation},
        "spec": {"taint": taint(effect, at=at), "deviceSelector": DEVICE if selector is None else selector},
        "status": {"conditions": list(conditions)},
    }
    return msgspec.convert(body, DeviceTaintRule)


def for_seconds(seconds=None, **more):
    return {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds, **more}


# Rules: when


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], 0),
        ([for_seconds(30)], 30),
        ([for_seconds(30), for_seconds(20)], 20),
        ([for_seconds(-5)], 0),
        ([for_seconds()], None),
        ([for_seconds(30), for_seconds()], None),
        ([for_seconds(effect=None)], None),
        ([for_seconds(2**62)], None),
        ([for_seconds(30, key="other")], 0),
        ([for_seconds(30, effect="NoSchedule")], 0),
        ([for_seconds(30, operator="Equal", value="v")], 30),
        ([for_seconds(30, operator="Equal", value="other")], 0),
    ],
)
def test_evicted_at_uses_the_shortest_toleration_unless_unlimited(tolerations, expected):
    result = evicted_at(msgspec.convert(taint(), DeviceTaint), msgspec.convert(tolerations, list[DeviceToleration]))
    assert result == (None if expected is None else later(expected))


def test_evicted_at_ignores_taints_without_time():
    assert evicted_at(DeviceTaint(key="k", effect="NoExecute"), []) is None


@pytest.mark.parametrize(
    ("slices", "rules", "expected"),
    [
        ([], [], None),
        ([slice_of()], [], None),
        ([slice_of(taint("NoSchedule"))], [], None),
        ([slice_of(taint(), name="other")], [], None),
        ([slice_of(taint())], [], Eviction(NOW, frozenset())),
        ([slice_of(taint(at=9), taint(at=4))], [], Eviction(later(4), frozenset())),
        ([slice_of(taint()), slice_of(generation=2)], [], None),
        ([slice_of()], [rule()], Eviction(NOW, frozenset({"r"}))),
        ([], [rule(at=7)], Eviction(later(7), frozenset({"r"}))),
        ([slice_of(taint(at=4))], [rule(at=7)], Eviction(later(4), frozenset({"r"}))),
        ([], [rule("None")], None),
        ([], [rule(selector={"driver": "other.com"})], None),
    ],
)
def test_eviction_is_at_the_first_untolerated_taint(slices, rules, expected):
    assert eviction([claim()], lambda _: slices, rules) == expected


def test_eviction_is_at_the_earliest_claim():
    both = [claim(for_seconds(30)), claim(for_seconds(20))]
    assert eviction(both, lambda _: [slice_of(taint())], []) == Eviction(later(20), frozenset())
    assert eviction([claim(for_seconds())], lambda _: [slice_of(taint())], [rule()]) is None


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"driver": "d.com"}, True),
        ({"pool": "pool", "device": "gpu"}, True),
        ({"pool": "pool", "device": "other"}, False),
        ({"driver": "other.com"}, False),
    ],
)
def test_rule_selector_requires_all_fields(selector, selected):
    assert is_selected(rule(selector=selector), **DEVICE) is selected


def test_rule_without_selector_selects_no_device():
    nothing = rule()
    nothing.spec.deviceSelector = None
    assert not is_selected(nothing, **DEVICE)


def test_newest_returns_the_latest_generation():
    old, new = slice_of(generation=1), slice_of(generation=2)
    assert newest([old, new]) == [new]
    assert newest([]) == []


def test_evicting_taints_of_a_slice():
    assert evicting_taints(slice_of(taint("NoSchedule"))) == evicting_taints(slice_of())
    assert evicting_taints(slice_of(taint())) != evicting_taints(slice_of())
    assert evicting_taints(slice_of(generation=2)) != evicting_taints(slice_of())


def test_pod_keys_of_an_allocated_claim():
    assert pod_keys(claim(consumers=["a", "b"])) == ["ns/a", "ns/b"]
    waiting = claim()
    waiting.status.allocation = None
    assert pod_keys(waiting) == []


# Status of DeviceTaintRules


@pytest.mark.parametrize(
    ("effect", "extent", "expected"),
    [
        ("NoExecute", RuleScope(), ("False", "NotStarted", "")),
        (
            "NoExecute",
            RuleScope(pods=1, namespaces=1),
            ("True", "PodsPendingEviction", "1 pod needs to be evicted in 1 namespace."),
        ),
        (
            "NoExecute",
            RuleScope(pods=3, namespaces=2, evicted=1),
            (
                "True",
                "PodsPendingEviction",
                "3 pods need to be evicted in 2 different namespaces. 1 pod evicted since starting the controller.",
            ),
        ),
        (
            "NoExecute",
            RuleScope(evicted=2),
            ("False", "Completed", "2 pods evicted since starting the controller."),
        ),
        ("NoSchedule", RuleScope(), ("False", "OtherEffect", "Eviction only happens for the NoExecute effect.")),
        (
            "None",
            RuleScope(pods=2, namespaces=1, published=1, allocated=0),
            (
                "False",
                "NoEffect",
                f"1 published device selected. 0 allocated devices selected. 2 pods would be evicted in 1 namespace {ONCE}",
            ),
        ),
    ],
)
def test_status_to_apply_has_the_progress(effect, extent, expected):
    applied = status_to_apply(rule(effect), extent, now=NOW)
    condition = applied["status"]["conditions"][0]
    assert (condition["status"], condition["reason"], condition["message"]) == expected
    assert applied["metadata"] == {"name": "r", "uid": "ru"}
    assert status_to_apply(rule(effect, conditions=[condition]), extent, now=later(60)) is None
    assert status_to_apply(rule(effect, conditions=[condition], generation=2), extent, now=later(60)) is not None


def test_seconds_to_update_is_0_for_a_newer_spec():
    condition = status_to_apply(rule(), RuleScope(), now=NOW)["status"]["conditions"][0]
    stored = rule(conditions=[condition])
    assert seconds_to_update(stored, now=later(4)) == 6
    assert seconds_to_update(stored, now=later(11)) == 0
    assert seconds_to_update(rule(conditions=[condition], generation=2), now=later(4)) == 0
    assert seconds_to_update(rule(), now=NOW) == 0


# The controller


@pytest.fixture
async def in_use(cluster, pod_spec):
    """A pod on a Node that uses a device, which tolerates taints for 30 s."""
    await cluster.make("v1", "Node", "n")
    await cluster.make(*SLICE, spec=devices())
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    created = await cluster.make(*CLAIM, namespace="default", spec={"devices": {"requests": [request]}})
    spec = {**pod_spec, "nodeName": "n", "resourceClaims": [{"name": "dev", "resourceClaimName": "c"}]}
    pod = await cluster.make(*POD, namespace="default", spec=spec)
    result = {**DEVICE, "request": "r", "tolerations": [for_seconds(30)]}
    reserved = [{"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}]
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
    await cluster.client.update_status({**created, "status": status})
    return pod


async def put_taints(cluster, *taints):
    result = await cluster.find(*SLICE)
    rows = [{"name": "gpu", "taints": [{"key": "k", "effect": taint} for taint in taints]}]
    await cluster.client.update({**result, "spec": {**result["spec"], "devices": rows}})


def is_going(obj):
    return obj is None or "deletionTimestamp" in obj["metadata"]


async def messages(cluster):
    return [event["message"] for event in await cluster.events(EVENT)]


@pytest.mark.usefixtures("in_use")
async def test_pod_is_evicted_when_the_toleration_ends(cluster):
    controller = await cluster.start(build)
    await put_taints(cluster, "NoExecute")
    await cluster.clock.advance(28)
    assert not is_going(await cluster.find(*POD, namespace="default"))
    obj = await cluster.eventually(*POD, is_going, namespace="default", within_seconds=5)
    condition = obj["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "DeletionByDeviceTaintManager")
    assert condition["message"] == "Device Taint manager: deleting due to NoExecute taint"
    assert await messages(cluster) == ["Marking for deletion"]
    name = "device_taint_eviction_controller_pod_deletions_total"
    assert controller.context.metrics.registry.get_sample_value(name) == 1


@pytest.mark.usefixtures("in_use")
async def test_removed_taint_cancels_the_eviction(cluster):
    await cluster.start(build)
    await put_taints(cluster, "NoExecute")
    await cluster.clock.advance(20)
    await put_taints(cluster)
    await cluster.until(lambda: messages(cluster))
    await cluster.clock.advance(60)
    assert not is_going(await cluster.find(*POD, namespace="default"))
    assert await messages(cluster) == ["Cancelling deletion"]


@pytest.mark.usefixtures("in_use")
async def test_taints_from_before_the_start_evict(cluster):
    await put_taints(cluster, "NoSchedule", "NoExecute")
    await cluster.clock.advance(40)
    await cluster.start(build)
    await cluster.eventually(*POD, is_going, namespace="default", within_seconds=5)


async def make_evicting_rule(cluster):
    since = cluster.clock.now().isoformat()
    taint = {"key": "k", "effect": "NoExecute", "timeAdded": since}
    spec = {"taint": taint, "deviceSelector": {"driver": "d.com", "pool": "pool"}}
    await cluster.make("resource.k8s.io/v1beta2", "DeviceTaintRule", "r", spec=spec)


async def what_it_tells(cluster, reason, *, within_seconds):
    """Return the condition's message once it has the reason."""

    async def condition_of():
        conditions = (await cluster.client.get(RULES.as_trees(), "r")).get("status", {}).get("conditions", ())
        return [row["message"] for row in conditions if row["reason"] == reason]

    (message,) = await cluster.until(condition_of, within_seconds=within_seconds)
    return message


@pytest.mark.usefixtures("in_use")
async def test_rule_evicts_and_reports_progress(cluster):
    await cluster.define(RULES)
    await cluster.start(build, served=["resource.k8s.io/v1beta2 devicetaintrules"])
    await make_evicting_rule(cluster)
    pending = await what_it_tells(cluster, "PodsPendingEviction", within_seconds=5)
    assert pending == "1 pod needs to be evicted in 1 namespace."
    await cluster.clock.advance(20)
    assert not is_going(await cluster.find(*POD, namespace="default"))
    await cluster.eventually(*POD, is_going, namespace="default", within_seconds=15)
    completed = await what_it_tells(cluster, "Completed", within_seconds=30)
    assert completed == "1 pod evicted since starting the controller."


@pytest.mark.usefixtures("in_use")
async def test_rule_status_follows_released_devices(cluster):
    await cluster.define(RULES)
    await cluster.start(build, served=["resource.k8s.io/v1beta2 devicetaintrules"])
    await make_evicting_rule(cluster)
    await what_it_tells(cluster, "PodsPendingEviction", within_seconds=5)
    await cluster.clock.advance(15)
    result = await cluster.find(*CLAIM, namespace="default")
    await cluster.client.update_status({**result, "status": {}})
    assert await what_it_tells(cluster, "NotStarted", within_seconds=15) == ""
    assert not is_going(await cluster.find(*POD, namespace="default"))


async def test_rule_with_effect_none_reports_what_it_would_evict(cluster, in_use):
    await cluster.define(RULES)
    since = cluster.clock.now().isoformat()
    spec = {"taint": {"key": "k", "effect": "None", "timeAdded": since}, "deviceSelector": {}}
    await cluster.make("resource.k8s.io/v1beta2", "DeviceTaintRule", "r", spec=spec)
    await cluster.start(build, served=["resource.k8s.io/v1beta2 devicetaintrules"])

    async def condition():
        obj = await cluster.client.get(RULES.as_trees(), "r")
        return obj.get("status", {}).get("conditions")

    (row,) = await cluster.until(condition, within_seconds=5)
    assert row["message"].startswith("1 published device selected. 1 allocated device selected. 1 pod would be evicted")
    await cluster.clock.advance(60)
    obj = await cluster.client.get(tree("v1", "Pod"), "p", namespace="default")
    assert obj["metadata"]["uid"] == in_use["metadata"]["uid"]
    assert not is_going(obj)
