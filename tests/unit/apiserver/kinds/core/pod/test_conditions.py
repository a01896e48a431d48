from __future__ import annotations

from steersman.apiserver.kinds.core.pod.conditions import set_condition

OLD = {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": "then", "reason": "R"}


def test_set_condition_appends_new_type():
    status = {"conditions": [OLD]}
    set_condition(status, {"type": "PodScheduled", "status": "True", "reason": ""}, "now")
    added = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": "now"}
    assert status == {"conditions": [OLD, added]}


def test_set_condition_keeps_time_when_status_is_unchanged():
    status = {"conditions": [OLD]}
    set_condition(status, {"type": "Ready", "status": "False", "message": "m"}, "now")
    assert status["conditions"] == [
        {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": "then", "message": "m"}
    ]


def test_set_condition_changes_time_when_status_changes():
    status = {"conditions": [OLD]}
    set_condition(status, {"type": "Ready", "status": "True"}, "now")
    assert [c["lastTransitionTime"] for c in status["conditions"]] == ["now"]
    assert OLD["status"] == "False"


def test_set_condition_creates_list():
    status = {"conditions": None}
    set_condition(status, {"type": "Ready", "status": "True"}, "now")
    assert [c["type"] for c in status["conditions"]] == ["Ready"]
