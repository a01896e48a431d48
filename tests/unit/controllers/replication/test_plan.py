"""Pods to create and delete, and the status."""

from __future__ import annotations

import pytest
from lightkube.models.apps_v1 import ReplicaSetCondition
from tests.unit.controllers.replication.conftest import NOW

from steersman.controllers.replication.plan import (
    BURST_REPLICAS,
    Counts,
    Plan,
    Status,
    needs_write,
    observe,
    plan_replicas,
    plan_status,
    resync_seconds,
)

NONE = Counts(0, 0, 0, 0, None)


def test_plan_creates_missing_replicas(pod):
    assert plan_replicas([pod()], 3, related=(), now=NOW) == Plan(create=2)


def test_enough_is_enough(pod):
    assert plan_replicas([pod()], 1, related=(), now=NOW) == Plan()


def test_plan_bounds_creations():
    assert plan_replicas([], 5000, related=(), now=NOW) == Plan(create=BURST_REPLICAS)


def test_plan_bounds_deletions(pod):
    pods = [pod() for _ in range(5)]
    assert len(plan_replicas(pods, 0, related=(), now=NOW, burst=3).delete) == 3


def test_plan_deletes_pods_in_deletion_order(pod):
    ready, unready = pod(ready_for=50), pod()
    assert plan_replicas([ready, unready], 1, related=(), now=NOW) == Plan(delete=(unready,))


def test_pods_are_counted(pod):
    pods = [
        pod(labels={"app": "x", "v": "1"}, ready_for=100),
        pod(labels={"app": "x", "v": "1"}, ready_for=5),
        pod(labels={"app": "x"}),
    ]
    counts = observe(pods, 4, template_labels={"app": "x", "v": "1"}, min_ready_seconds=10, now=NOW)
    assert counts == Counts(replicas=3, fully_labeled=2, ready=2, available=1, terminating=4)


@pytest.mark.parametrize(
    ("seen", "reason", "message"),
    [(1, "FailedCreate", "no"), (3, "FailedDelete", "unable to delete pods: no"), (2, None, "no")],
)
def test_status_has_a_condition_for_a_failure(seen, reason, message):
    counts = Counts(seen, 0, 0, 0, None)
    status = plan_status(
        Status(NONE, 1), counts, desired_replicas=2, failure="no", new_condition=ReplicaSetCondition, now=NOW
    )
    (condition,) = status.conditions
    assert (condition.type, condition.status, condition.reason, condition.message) == (
        "ReplicaFailure", "True", reason, message,
    )  # fmt: skip


def test_status_keeps_the_first_failure_until_success():
    first = plan_status(
        Status(NONE, 1), NONE, desired_replicas=2, failure="one", new_condition=ReplicaSetCondition, now=NOW
    )
    second = plan_status(first, NONE, desired_replicas=2, failure="two", new_condition=ReplicaSetCondition, now=NOW)
    third = plan_status(second, NONE, desired_replicas=2, failure=None, new_condition=ReplicaSetCondition, now=NOW)
    assert (second, third.conditions) == (first, ())


@pytest.mark.parametrize(
    ("old", "new", "generation", "needed"),
    [
        (Status(NONE, 1), Status(NONE, 1), 1, False),
        (Status(NONE, 1), Status(NONE, 1), 2, True),
        (Status(NONE, 1), Status(Counts(1, 0, 0, 0, None), 1), 1, True),
        (Status(NONE, 1), Status(Counts(0, 0, 0, 0, 0), 1), 1, True),
    ],
)
def test_status_is_none_when_unchanged(old, new, generation, needed):
    assert needs_write(old, new, generation) == needed


@pytest.mark.parametrize(
    ("ready", "available", "least", "next_available", "wait"),
    [(2, 1, 10, 4.0, 4.0), (2, 1, 10, None, 10.0), (2, 2, 10, 4.0, None), (2, 1, 0, 4.0, None)],
)
def test_plan_requeues_for_pods_that_become_available(ready, available, least, next_available, wait):
    counts = Counts(2, 2, ready, available, None)
    assert resync_seconds(counts, min_ready_seconds=least, next_available_seconds=next_available) == wait
