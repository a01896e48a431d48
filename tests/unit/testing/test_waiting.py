"""Conditions of ``kubectl wait``."""

import pytest

from steersman.testing.waiting import BadCondition, read_condition

READY = {"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "phase": "Running", "list": [{"a": True}],
         "conditions": [{"type": "Ready", "status": "True"}, {"type": "Progressing", "status": "False"}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("create", True),
        ("delete", False),
        ("condition=Ready", True),
        ("condition=ready=true", True),
        ("condition=Progressing", False),
        ("condition=Progressing=False", True),
        ("condition=Missing", False),
        (".status.phase=Running", True),
        ("jsonpath={.status.phase}=Running", True),
        ("jsonpath='{.status.phase}'=Pending", False),
        (".status.phase", True),
        (".status.missing", False),
        (".status.list[0].a=true", True),
        (".status.list[1].a=true", False),
    ],
)
def test_condition_of_an_object(condition, is_met):
    assert read_condition(condition)(READY) == is_met


def test_missing_object_is_only_deleted():
    conditions = ("create", "delete", "condition=Ready", ".status.phase")
    assert [read_condition(condition)(None) for condition in conditions] == [False, True, False, False]


def test_condition_of_an_older_generation_does_not_count():
    old = {**READY, "metadata": {"generation": 3}}
    assert not read_condition("condition=Ready")(old)


@pytest.mark.parametrize("text", ["", "Ready", "condition=", "status.phase"])
def test_bad_condition_is_an_error(text):
    with pytest.raises(BadCondition, match="is no condition: expected create, delete"):
        read_condition(text)
