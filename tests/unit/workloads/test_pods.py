"""Pod predicates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from lightkube.models.core_v1 import Pod, PodCondition, PodSpec, PodStatus, PodTemplateSpec
from lightkube.models.meta_v1 import ObjectMeta

from steersman.runtime.owners import Owner
from steersman.workloads import pods

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ready(seconds, status="True"):
    since = None if seconds is None else NOW - timedelta(seconds=seconds)
    return Pod(
        metadata=ObjectMeta(),
        status=PodStatus(conditions=[PodCondition(type="Ready", status=status, lastTransitionTime=since)]),
    )


@pytest.mark.parametrize(
    ("phase", "deleted", "active", "terminating"),
    [("Running", False, True, False), ("Running", True, False, True), ("Failed", False, False, False),
     ("Succeeded", True, False, False), (None, False, True, False)],
)  # fmt: skip
def test_is_active_and_is_terminating_by_phase_and_deletion(phase, deleted, active, terminating):
    pod = Pod(metadata=ObjectMeta(deletionTimestamp=NOW if deleted else None), status=PodStatus(phase=phase))
    assert (pods.is_active(pod), pods.is_terminating(pod)) == (active, terminating)


@pytest.mark.parametrize(
    ("pod", "least", "available"),
    [(ready(10), 10, True), (ready(9), 10, False), (ready(0), 0, True), (ready(99, "False"), 0, False),
     (ready(None), 0, True), (ready(None), 1, False), (Pod(metadata=ObjectMeta()), 0, False)],
)  # fmt: skip
def test_is_available_requires_min_ready_seconds(pod, least, available):
    assert pods.is_available(pod, least, now=NOW) == available


def test_seconds_to_available_is_that_of_the_next_pod():
    assert pods.seconds_to_available([ready(3), ready(8), ready(20), ready(None)], 10, now=NOW) == 2


def test_seconds_to_available_is_none_without_waiting_pods():
    assert pods.seconds_to_available([ready(20), ready(1, "False")], 10, now=NOW) is None


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("+5", 0),
        ("05", 0),
        ("-05", -5),
        ("1.5", 0),
        ("", 0),
        ("2147483648", 0),
        ("-2147483648", -(2**31)),
    ],
)
def test_deletion_cost_is_a_32_bit_integer(text, cost):
    pod = Pod(metadata=ObjectMeta(annotations={pods.DELETION_COST: text}))
    assert pods.deletion_cost(pod) == cost


def test_phase_and_node_are_empty_without_status():
    pod = Pod()
    assert (pods.node_of(pod), pods.phase_of(pod), pods.deletion_cost(pod), pods.most_restarts(pod)) == (
        "",
        "",
        0,
        (0, 0),
    )


def template():
    metadata = ObjectMeta(labels={"a": "b"}, annotations={"c": "d"}, finalizers=["e/f"], name="not taken")
    return PodTemplateSpec(metadata=metadata, spec=PodSpec(containers=[]))


def test_pod_from_template_copies_the_template():
    owner = Owner("v1", "ReplicationController", "rc", "uid", controller=True, block_owner_deletion=True)
    made = pods.pod_from_template(template(), owner_name="rc", namespace="ns", controller=owner)
    assert made.metadata == ObjectMeta(
        generateName="rc-", namespace="ns", labels={"a": "b"}, annotations={"c": "d"}, finalizers=["e/f"],
        ownerReferences=[owner.typed()],
    )  # fmt: skip
    assert made.spec == template().spec


@pytest.mark.parametrize(
    ("name", "prefix"), [("x" * 252, "x" * 252 + "-"), ("x" * 253, "x" * 253 + "-"), ("Bad", "Bad")]
)
def test_pod_from_template_generates_the_name_from_the_owner(name, prefix):
    made = pods.pod_from_template(template(), owner_name=name, namespace="ns", controller=None)
    assert (made.metadata.generateName, made.metadata.ownerReferences) == (prefix, None)


def test_node_names_is_empty_for_unassigned_pods():
    assert pods.node_names(Pod(spec=PodSpec(containers=[], nodeName="n"))) == ("n",)
    assert pods.node_names(Pod(spec=PodSpec(containers=[]))) == ()
    assert pods.node_names(Pod()) == ()
