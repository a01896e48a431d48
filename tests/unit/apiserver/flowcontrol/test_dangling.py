"""Condition ``Dangling`` of FlowSchemas."""

from steersman.apiserver.flowcontrol.dangling import plan_conditions

NOW = "2026-01-01T00:00:00Z"


def schema(**condition) -> dict:
    conditions = [{"type": "Other"}, {"type": "Dangling", **condition}] if condition else []
    return {
        "metadata": {"name": "s"},
        "spec": {"priorityLevelConfiguration": {"name": "l"}},
        "status": {"conditions": conditions},
    }


def plan(tree: dict, *levels: str) -> list[dict]:
    return [
        plan_condition["status"]["conditions"][0] for plan_condition in plan_conditions([tree], levels, now_text=NOW)
    ]


def test_new_schema_gets_the_condition():
    start = 'This FlowSchema references the PriorityLevelConfiguration object named "l"'
    assert plan(schema(), "l") == [
        {
            "type": "Dangling",
            "status": "False",
            "reason": "Found",
            "message": f"{start} and it exists",
            "lastTransitionTime": NOW,
        }
    ]
    assert plan(schema()) == [
        {
            "type": "Dangling",
            "status": "True",
            "reason": "NotFound",
            "message": f"{start} but there is no such object",
            "lastTransitionTime": NOW,
        }
    ]


def test_current_condition_is_unchanged():
    assert plan(schema(**plan(schema(), "l")[0]), "l") == []


def test_changed_message_keeps_the_transition_time():
    then = "2025-01-01T00:00:00Z"
    result = schema(status="False", reason="Found", message="old", lastTransitionTime=then)
    assert plan(result, "l")[0]["lastTransitionTime"] == then
    assert plan(result)[0]["lastTransitionTime"] == NOW


def test_only_the_status_is_applied():
    applied = next(plan_conditions([schema()], (), now_text=NOW))
    assert (applied["metadata"], "spec" in applied) == ({"name": "s"}, False)
