import pytest
from lightkube.models.apps_v1 import DeploymentCondition

from steersman.runtime.conditions import (
    find_condition,
    is_condition_false,
    is_condition_true,
    with_condition,
    without_condition,
)


def typed(type_, status, **more):
    return DeploymentCondition(type=type_, status=status, **more)


def tree(type_, status, **more):
    return {"type": type_, "status": status, **more}


OLD, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.fixture(params=[typed, tree])
def make(request):
    return request.param


def test_a_condition_is_found_by_type(make):
    conditions = [make("Ready", "True"), make("Stalled", "False")]
    assert find_condition(conditions, "Stalled") == make("Stalled", "False")
    assert find_condition(conditions, "Other") is None
    assert find_condition(None, "Ready") is None


def test_true_and_false_are_told_apart_from_unknown_and_absent(make):
    conditions = [make("A", "True"), make("B", "False"), make("C", "Unknown")]
    assert [is_condition_true(conditions, type_) for type_ in "ABCD"] == [True, False, False, False]
    assert [is_condition_false(conditions, type_) for type_ in "ABCD"] == [False, True, False, False]


def test_a_new_condition_is_stamped(make):
    assert with_condition(None, make("Ready", "True"), now=NOW) == [make("Ready", "True", lastTransitionTime=NOW)]


def test_a_condition_keeps_its_time_while_the_status_stays(make):
    old = [make("Ready", "True", reason="A", lastTransitionTime=OLD), make("Other", "True")]
    new = with_condition(old, make("Ready", "True", reason="B"), now=NOW)
    assert new == [make("Ready", "True", reason="B", lastTransitionTime=OLD), make("Other", "True")]


def test_a_transition_moves_the_time(make):
    old = [make("Ready", "True", lastTransitionTime=OLD)]
    assert with_condition(old, make("Ready", "False"), now=NOW) == [make("Ready", "False", lastTransitionTime=NOW)]
    assert old == [make("Ready", "True", lastTransitionTime=OLD)]


def test_a_condition_may_tell_its_own_time(make):
    new = make("Ready", "False", lastTransitionTime=OLD)
    assert with_condition([make("Ready", "True")], new, now=NOW) == [new]


def test_a_condition_is_taken_out(make):
    assert without_condition([make("A", "True"), make("B", "True")], "A") == [make("B", "True")]
