from __future__ import annotations

from steersman.apiserver.kinds.core.pod.conditions import set_condition

OLD = {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": "then", "reason": "R"}


def test_a_new_condition_goes_to_the_end():
    status = {"conditions": [OLD]}
    set_condition(status, {"type": "PodScheduled", "status": "True", "reason": ""}, "now")
    added = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": "now"}
    assert status == {"conditions": [OLD, added]}


def test_a_condition_of_the_same_status_keeps_its_time():
    status = {"conditions": [OLD]}
    set_condition(status, {"type": "Ready", "status": "False", "message": "m"}, "now")
    assert status["conditions"] == [
        {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": "then", "message": "m"}
    ]


def test_a_condition_of_another_status_changes_its_time():
    status = {"conditions": [OLD]}
    set_condition(status, {"type": "Ready", "status": "True"}, "now")
    assert [c["lastTransitionTime"] for c in status["conditions"]] == ["now"]
    assert OLD["status"] == "False"


def test_a_status_without_conditions_gets_some():
    status = {"conditions": None}
    set_condition(status, {"type": "Ready", "status": "True"}, "now")
    assert [c["type"] for c in status["conditions"]] == ["Ready"]
