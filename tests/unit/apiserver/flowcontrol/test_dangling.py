"""Whether a schema's level is there."""

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
    return [each["status"]["conditions"][0] for each in plan_conditions([tree], levels, now_text=NOW)]


def test_a_new_schema_is_told_whether_its_level_is_there():
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


def test_what_is_right_is_left_alone():
    assert plan(schema(**plan(schema(), "l")[0]), "l") == []


def test_a_message_that_changes_is_no_transition():
    then = "2025-01-01T00:00:00Z"
    found = schema(status="False", reason="Found", message="old", lastTransitionTime=then)
    assert plan(found, "l")[0]["lastTransitionTime"] == then
    assert plan(found)[0]["lastTransitionTime"] == NOW


def test_only_the_status_is_applied():
    applied = next(plan_conditions([schema()], (), now_text=NOW))
    assert (applied["metadata"], "spec" in applied) == ({"name": "s"}, False)
