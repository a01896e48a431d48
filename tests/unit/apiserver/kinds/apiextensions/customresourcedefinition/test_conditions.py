from __future__ import annotations

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.conditions import set_condition


def test_set_condition_appends_a_condition_of_a_new_type():
    conditions = [{"type": "Established", "status": "True"}]
    set_condition(conditions, "Terminating", "True", "R", "m", now="t1")
    assert conditions[1] == {
        "type": "Terminating",
        "status": "True",
        "reason": "R",
        "message": "m",
        "lastTransitionTime": "t1",
    }


def test_set_condition_keeps_transition_time_when_status_is_unchanged():
    conditions = [{"type": "Terminating", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "t1"}]
    set_condition(conditions, "Terminating", "True", "S", "n", now="t2")
    assert (conditions[0]["reason"], conditions[0]["lastTransitionTime"]) == ("S", "t1")
    set_condition(conditions, "Terminating", "False", "S", "n", now="t3")
    assert conditions[0]["lastTransitionTime"] == "t3"
