"""Status of a Deployment."""

from __future__ import annotations

from datetime import timedelta

import pytest
from lightkube.models.apps_v1 import DeploymentStatus, ReplicaSetCondition
from msgspec.structs import replace
from tests.unit.controllers.deployment.conftest import NOW

from steersman.controllers.deployment import status
from steersman.runtime.conditions import find_condition

EARLIER = NOW - timedelta(seconds=100)


def progressing(new="True", reason=status.SETS_UPDATED, *, at=EARLIER):
    return status.progressing(new, reason, "", now=at)


def with_conditions(*conditions, **counts):
    return DeploymentStatus(conditions=list(conditions), **counts)


def test_replica_sets_are_summed_up(deployment, rs):
    new, old = rs(2, available=1, current=2), rs(1, current=3, terminating=2)
    counted = status.count(deployment(3), DeploymentStatus(collisionCount=4), [old, new], new, now=NOW)
    counts = (counted.replicas, counted.updatedReplicas, counted.readyReplicas, counted.availableReplicas, counted.unavailableReplicas,
              counted.terminatingReplicas, counted.collisionCount, counted.observedGeneration)  # fmt: skip
    assert counts == (5, 2, 2, 2, 1, 2, 4, 1)


def test_terminating_replicas_are_none_until_every_set_reports_them(deployment, rs):
    sets = [rs(1), rs(1, terminating=None)]
    assert status.count(deployment(), DeploymentStatus(), sets, None, now=NOW).terminatingReplicas is None


@pytest.mark.parametrize(("available", "expected"), [(1, "False"), (2, "True")])
def test_available_permits_max_unavailable_missing_replicas(deployment, rs, available, expected):
    counted = status.count(
        deployment(3, unavailable=1), DeploymentStatus(), [rs(3, available=available)], None, now=NOW
    )
    assert find_condition(counted.conditions, status.AVAILABLE).status == expected


def test_set_condition_keeps_an_equal_condition():
    before = with_conditions(progressing())
    assert status.with_deployment_condition(before, progressing(at=NOW)) is before


def test_set_condition_changes_the_transition_time_with_the_status_only():
    new = status.with_deployment_condition(with_conditions(progressing()), progressing(reason=status.TIMED_OUT, at=NOW))
    assert (new.conditions[0].lastTransitionTime, new.conditions[0].lastUpdateTime) == (EARLIER, NOW)
    new = status.with_deployment_condition(
        with_conditions(progressing()), progressing("False", status.TIMED_OUT, at=NOW)
    )
    assert new.conditions[0].lastTransitionTime == NOW


def test_complete_is_all_new_and_available_and_observed(deployment):
    complete = DeploymentStatus(replicas=3, updatedReplicas=3, availableReplicas=3, observedGeneration=1)
    assert status.is_complete(deployment(3), complete)
    for short in ("replicas", "updatedReplicas", "availableReplicas", "observedGeneration"):
        assert not status.is_complete(deployment(3), replace(complete, **{short: None}))


@pytest.mark.parametrize(
    ("old", "new", "progressed"),
    [
        ({}, {}, False),
        ({}, {"updatedReplicas": 1, "replicas": 1}, True),
        ({"replicas": 3}, {"replicas": 2}, True),
        ({}, {"readyReplicas": 1}, True),
        ({}, {"availableReplicas": 1}, True),
        ({"replicas": 2}, {"replicas": 3}, False),
    ],
)
def test_progress_is_more_new_fewer_old_or_more_ready(old, new, progressed):
    assert status.has_progressed(DeploymentStatus(**old), DeploymentStatus(**new)) == progressed


@pytest.mark.parametrize(
    ("conditions", "deadline", "timed_out"),
    [
        ([progressing()], 99, True),
        ([progressing()], 100, False),
        ([progressing()], None, False),
        ([progressing()], 2**31 - 1, False),
        ([progressing(reason=status.NEW_SET_AVAILABLE)], 1, False),
        ([progressing("False", status.TIMED_OUT, at=NOW)], 1000, True),
        ([], 1, False),
    ],
)
def test_progress_deadline_counts_from_the_last_progress(deployment, conditions, deadline, timed_out):
    assert status.has_timed_out(deployment(deadline=deadline), with_conditions(*conditions), now=NOW) == timed_out


def watched(deployment, before, counted, new=None):
    result = status.progress(status.watch_progress(deployment, before, counted, new, now=NOW))
    return result and (result.status, result.reason, result.message)


def test_progressing_condition_of_each_step(deployment, rs):
    new, ours = rs(name="d-1"), deployment(3)
    some, done = {"replicas": 2, "updatedReplicas": 2}, {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
    fresh, late = with_conditions(progressing()), with_conditions(progressing(at=NOW - timedelta(seconds=601)))
    assert watched(ours, fresh, replace(fresh, **some), new) == (
        "True", "ReplicaSetUpdated", 'ReplicaSet "d-1" is progressing.',
    )  # fmt: skip
    assert watched(ours, fresh, replace(fresh, **done, observedGeneration=1), new) == (
        "True", "NewReplicaSetAvailable", 'ReplicaSet "d-1" has successfully progressed.',
    )  # fmt: skip
    assert watched(ours, late, late, None) == (
        "False", "ProgressDeadlineExceeded", 'Deployment "d" has timed out progressing.',
    )  # fmt: skip
    assert watched(deployment(deadline=None), fresh, fresh) is None


def test_progress_updates_last_update_time_for_the_same_reason(deployment, rs):
    before = with_conditions(progressing())
    new = status.progress(
        status.watch_progress(deployment(3), before, replace(before, replicas=1, updatedReplicas=1), None, now=NOW)
    )
    assert (new.lastTransitionTime, new.lastUpdateTime) == (EARLIER, NOW)


def test_completed_rollout_has_no_deadline(deployment):
    """A Pod that fails later is no failed rollout."""
    done = with_conditions(progressing(reason=status.NEW_SET_AVAILABLE), replicas=3, updatedReplicas=3)
    assert status.watch_progress(deployment(3), done, done, None, now=NOW) is done


def test_replica_failure_of_the_new_set_takes_precedence(rs):
    def failing(message):
        return [ReplicaSetCondition(type="ReplicaFailure", status="True", reason="FailedCreate", message=message)]

    old, new = rs(conditions=failing("old")), rs(conditions=failing("new"))
    new = status.take_over_failure(DeploymentStatus(), [old, new], new)
    assert [condition.message for condition in new.conditions] == ["new"]
    assert status.take_over_failure(DeploymentStatus(), [old], None).conditions[0].message == "old"
    assert status.take_over_failure(new, [rs()], None).conditions is None


@pytest.mark.parametrize(
    ("condition", "seconds"), [(progressing(), 500), (progressing("False", status.TIMED_OUT), None), (None, None)]
)
def test_rollout_is_requeued_at_its_deadline(deployment, condition, seconds):
    new = with_conditions(*([condition] if condition else []))
    assert status.seconds_to_deadline(deployment(), new, now=NOW) == seconds
