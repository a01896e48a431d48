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


def test_find_condition_matches_by_type(make):
    conditions = [make("Ready", "True"), make("Stalled", "False")]
    assert find_condition(conditions, "Stalled") == make("Stalled", "False")
    assert find_condition(conditions, "Other") is None
    assert find_condition(None, "Ready") is None


def test_is_condition_true_and_false_exclude_unknown_and_absent(make):
    conditions = [make("A", "True"), make("B", "False"), make("C", "Unknown")]
    assert [is_condition_true(conditions, type_) for type_ in "ABCD"] == [True, False, False, False]
    assert [is_condition_false(conditions, type_) for type_ in "ABCD"] == [False, True, False, False]


def test_with_condition_sets_the_time_of_a_new_condition(make):
    assert with_condition(None, make("Ready", "True"), now=NOW) == [make("Ready", "True", lastTransitionTime=NOW)]


def test_with_condition_keeps_the_time_of_an_unchanged_status(make):
    old = [make("Ready", "True", reason="A", lastTransitionTime=OLD), make("Other", "True")]
    new = with_condition(old, make("Ready", "True", reason="B"), now=NOW)
    assert new == [make("Ready", "True", reason="B", lastTransitionTime=OLD), make("Other", "True")]


def test_with_condition_sets_the_time_at_a_transition(make):
    old = [make("Ready", "True", lastTransitionTime=OLD)]
    assert with_condition(old, make("Ready", "False"), now=NOW) == [make("Ready", "False", lastTransitionTime=NOW)]
    assert old == [make("Ready", "True", lastTransitionTime=OLD)]


def test_with_condition_accepts_an_explicit_time(make):
    new = make("Ready", "False", lastTransitionTime=OLD)
    assert with_condition([make("Ready", "True")], new, now=NOW) == [new]


def test_without_condition_removes_a_condition(make):
    assert without_condition([make("A", "True"), make("B", "True")], "A") == [make("B", "True")]
