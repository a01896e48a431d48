import msgspec
import pytest
from lightkube.models.core_v1 import Pod, Taint

from steersman.client import tree
from steersman.controllers.tainteviction.controller import build
from steersman.controllers.tainteviction.plan import (
    FOREVER,
    Decision,
    Stay,
    decide,
    tolerated_seconds,
    tolerations_of,
)

TAINTS = [Taint(key="a", effect="NoExecute"), Taint(key="b", value="v", effect="NoExecute")]
NODE = ("v1", "Node", "n")
POD = ("v1", "Pod", "p")


def pod(*tolerations):
    rows = [{"operator": "Exists", "effect": "NoExecute", **row} for row in tolerations]
    body = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [], "tolerations": rows}}
    return msgspec.convert(body, Pod)


def for_seconds(a, b=None):
    both = {"key": "a", "tolerationSeconds": a}, {"key": "b", "tolerationSeconds": b}
    return pod(*[{key: value for key, value in row.items() if value is not None} for row in both])


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(), 0),
        (pod({"key": "a"}), 0),
        (pod({}), FOREVER),
        (for_seconds(None), FOREVER),
        (for_seconds(30), 30),
        (for_seconds(30, 20), 20),
        (for_seconds(-1, 20), 0),
        (pod({"key": "a", "tolerationSeconds": 5}, {"key": "a"}, {"key": "b"}), 5),
    ],
)
def test_toleration_seconds_are_the_minimum_over_all_taints(obj, expected):
    assert tolerated_seconds(TAINTS, tolerations_of(obj)) == expected


def test_toleration_of_no_taints_is_unlimited():
    assert tolerated_seconds([], []) == FOREVER


WAITING = Stay("u", 100, 130)
OVER = Stay("u", 100, 130, over=True)


@pytest.mark.parametrize(
    ("obj", "existing", "expected"),
    [
        (for_seconds(30), None, Decision(Stay("u", 110, 140))),
        (for_seconds(30), WAITING, Decision(WAITING)),
        (for_seconds(60), WAITING, Decision(Stay("u", 100, 160))),
        (for_seconds(None), WAITING, Decision(None, cancelled=True)),
        (for_seconds(None), OVER, Decision(None)),
        (for_seconds(None), None, Decision(None)),
        (for_seconds(60), OVER, Decision(OVER)),
        (pod(), WAITING, Decision(Stay("u", 100, 110), cancelled=True)),
    ],
)
def test_plan_keeps_or_cancels_a_scheduled_eviction(obj, existing, expected):
    assert decide(obj, TAINTS, existing, now=110) == expected


async def tainted(cluster, pod_spec, seconds):
    controller = await cluster.start(build)
    await cluster.make("v1", "Node", "n", status={"conditions": [{"type": "Ready", "status": "True"}]})
    rows = [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]
    spec = {**pod_spec, "nodeName": "n", "tolerations": rows}
    await cluster.make("v1", "Pod", "p", namespace="default", spec=spec)
    await taint(cluster, [{"key": "k", "effect": "NoExecute"}])
    return controller


async def taint(cluster, taints):
    await cluster.client.patch(tree("v1", "Node"), "n", {"spec": {"taints": taints}})


def is_going(obj):
    return obj is None or "deletionTimestamp" in obj["metadata"]


async def test_pod_is_evicted_after_its_toleration(cluster, pod_spec):
    controller = await tainted(cluster, pod_spec, 30)
    await cluster.clock.advance(28)
    assert not is_going(await cluster.find(*POD, namespace="default"))
    obj = await cluster.eventually(*POD, is_going, namespace="default", within_seconds=5)
    assert [row["type"] for row in obj["status"]["conditions"]] == ["DisruptionTarget"]
    messages = [event["message"] for event in await cluster.events("TaintManagerEviction")]
    assert messages == ["Marking for deletion Pod default/p"]
    assert cluster.sample(controller, "taint_eviction_controller_pod_deletions_total") == 1
    seconds = "taint_eviction_controller_pod_deletion_duration_seconds_sum"
    assert 0 <= cluster.sample(controller, seconds) < 1


async def test_removed_taint_cancels_the_eviction(cluster, pod_spec):
    await tainted(cluster, pod_spec, 30)
    await cluster.clock.advance(20)
    await taint(cluster, None)
    await cluster.clock.advance(60)
    assert not is_going(await cluster.find(*POD, namespace="default"))
    messages = [event["message"] for event in await cluster.events("TaintManagerEviction")]
    assert messages == ["Cancelling deletion of Pod default/p"]


async def test_pod_without_toleration_is_evicted_at_once(cluster, pod_spec):
    await tainted(cluster, pod_spec, 0)
    await cluster.eventually(*POD, is_going, namespace="default", within_seconds=2)


async def test_recreated_pod_of_the_same_name_is_not_evicted(cluster, pod_spec):
    await tainted(cluster, pod_spec, 30)
    await cluster.clock.advance(20)
    await cluster.client.delete(tree("v1", "Pod"), "p", namespace="default", grace_period_seconds=0)
    await cluster.make("v1", "Pod", "p", namespace="default", spec=pod_spec)  # nowhere yet
    await cluster.clock.advance(60)
    assert not is_going(await cluster.find(*POD, namespace="default"))
