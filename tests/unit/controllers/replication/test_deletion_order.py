"""Whom to delete first."""

from __future__ import annotations

import itertools
import random

import pytest
from lightkube.models.core_v1 import Container, ContainerStatus
from tests.unit.controllers.replication.conftest import NOW

from steersman.controllers.replication.deletion_order import in_deletion_order
from steersman.workloads.pods import DELETION_COST


def cost(number):
    return {DELETION_COST: str(number)}


#: What goes first, what goes after it, and the rule that says so.
PAIRS = {
    "unassigned first": ({"node": "", "ready_for": 1000}, {"phase": "Pending"}),
    "pending before unknown": ({"phase": "Pending"}, {"phase": "Unknown"}),
    "unknown before running": ({"phase": "Unknown", "ready_for": 500}, {}),
    "not ready before ready": ({}, {"ready_for": 1, "annotations": cost(-5)}),
    "lower cost first": ({"ready_for": 900, "annotations": cost(-1)}, {"ready_for": 1}),
    "cost that is no number is none": ({"annotations": cost(-1)}, {"annotations": {DELETION_COST: "-x"}}),
    "ready for a shorter time first": ({"ready_for": 10}, {"ready_for": 100, "restarts": 9}),
    "more restarts first": ({"restarts": 2, "age": 100}, {"restarts": 1, "age": 1}),
    "younger first": ({"age": 10}, {"age": 100}),
}


@pytest.mark.parametrize("rule", PAIRS)
def test_deletion_order_of_each_rule(rule, pod):
    first, second = (pod(**facts) for facts in PAIRS[rule])
    assert in_deletion_order([second, first], [], now=NOW) == [first, second]


def test_deletion_order_prefers_pods_on_crowded_nodes(pod):
    alone, doubled, other = pod(node="a"), pod(node="b"), pod(node="b", phase="Pending")
    assert in_deletion_order([alone, doubled], [alone, doubled, other], now=NOW) == [doubled, alone]


def test_deletion_order_counts_active_pods_per_node(pod):
    young, old, ended = pod(node="a", age=1), pod(node="b"), pod(node="b", phase="Failed")
    assert in_deletion_order([old, young], [young, old, ended], now=NOW) == [young, old]


def test_deletion_order_compares_uids_within_an_age_bucket(pod):
    """So that the last replicas are not all of one age."""
    older, younger = pod("a", ready_for=140), pod("b", ready_for=139)
    assert in_deletion_order([younger, older], [], now=NOW) == [older, younger]


def test_deletion_order_prefers_pods_without_time(pod):
    timed, untimed = pod(ready_for=1), pod(ready_for=5)
    untimed.status.conditions[0].lastTransitionTime = None
    assert in_deletion_order([timed, untimed], [], now=NOW) == [untimed, timed]


def test_restarts_of_sidecars_count_after_those_of_containers(pod):
    calm, restless = pod(), pod()
    restless.spec.initContainers = [Container(name="s", restartPolicy="Always"), Container(name="once")]
    restless.status.initContainerStatuses = [
        ContainerStatus(image="", imageID="", name=name, ready=True, restartCount=count)
        for name, count in (("s", 1), ("once", 9))
    ]
    assert in_deletion_order([calm, restless], [], now=NOW) == [restless, calm]


def test_deletion_order_is_independent_of_the_input_order(pod):
    dice = random.Random(7)
    choices = {
        "node": ["", "a"], "phase": ["Pending", "Running"], "ready_for": [None, 5, 500], "age": [1, 50, 1000],
        "restarts": [0, 3],
    }  # fmt: skip
    pods = [pod(**dict(zip(choices, values, strict=True))) for values in itertools.product(*choices.values())]
    expected = in_deletion_order(pods, pods, now=NOW)
    for _ in range(5):
        dice.shuffle(pods)
        assert in_deletion_order(pods, pods, now=NOW) == expected
