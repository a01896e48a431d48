from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, edited, named, texts

from steersman.apiserver.kinds.batch.job.status_validation import validate_job_status

START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
SPEC = {"completions": 5, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1}


def conditions(*types: str) -> list[dict]:
    return [{"type": type_, "status": "True"} for type_ in types]


OLD = named(spec=SPEC, status={"startTime": START, "active": 2})
COMPLETE = {
    "status.active": 0,
    "status.completionTime": END,
    "status.conditions": conditions("SuccessCriteriaMet", "Complete"),
}
FAILED = {"status.active": 0, "status.conditions": conditions("FailureTarget", "Failed")}


def after(edits: dict, before: dict | None = None) -> list[str]:
    old = edited(OLD, before or {})
    return texts(validate_job_status(edited(old, edits), old))


@pytest.mark.parametrize(
    "edits",
    [
        {},
        COMPLETE,
        FAILED,
        {"status.succeeded": 1, "status.completedIndexes": "0,2-3", "status.failedIndexes": "1"},
        {"status.ready": 2},
    ],
)
def test_validate_job_status_accepts_transitions_of_job_controller(edits):
    assert after(edits) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"status.terminating": -1}, "status.terminating: Invalid value: -1: must be greater than or equal to 0"),
        ({"status.ready": 3}, "status.ready: Invalid value: 3: cannot set more ready pods than active"),
        (
            {"status.uncountedTerminatedPods": {"succeeded": ["u"], "failed": ["u"]}},
            'status.uncountedTerminatedPods.failed[0]: Duplicate value: "u"',
        ),
        (
            {"status.uncountedTerminatedPods": {"succeeded": [""]}},
            'status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty',
        ),
        (
            {"status.completionTime": END},
            (
                f'status.completionTime: Invalid value: "{END}": '
                "cannot set completionTime when there is no Complete=True condition"
            ),
        ),
        (
            COMPLETE | {"status.completionTime": GONE},
            "status.completionTime: Required value: completionTime is required for Complete jobs",
        ),
        (COMPLETE | {"status.active": 1}, "status.active: Invalid value: 1: active>0 is invalid for finished job"),
        (
            FAILED | {"status.terminating": 1},
            "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
        ),
        (
            FAILED | {"status.startTime": GONE, "spec.suspend": True},
            "status.startTime: Required value: startTime is required for finished job",
        ),
        (
            FAILED | {"status.uncountedTerminatedPods": {"failed": ["u"]}},
            'status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["u"]}: must be empty for finished job',
        ),
        (
            {"status.active": 0, "status.conditions": conditions("Failed")},
            "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            {"status.active": 0, "status.completionTime": END, "status.conditions": conditions("Complete")},
            "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (
            COMPLETE | {"status.completionTime": "2025-12-31T00:00:00Z"},
            'status.completionTime: Invalid value: "2025-12-31T00:00:00Z": must be equal to or after `startTime`',
        ),
        (
            {"status.conditions": conditions("SuccessCriteriaMet", "FailureTarget")},
            "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
        (
            {"status.completedIndexes": "7"},
            'status.completedIndexes: Invalid value: "7": error parsing completedIndexes: too large index: "7"',
        ),
        (
            {"status.completedIndexes": "0-2", "status.failedIndexes": "2"},
            'status.failedIndexes: Invalid value: "2": failedIndexes and completedIndexes overlap at index: 2',
        ),
        (
            {"spec.completionMode": "NonIndexed", "status.completedIndexes": "0"},
            (
                'status.completedIndexes: Invalid value: "0": '
                "cannot set non-empty completedIndexes when non-indexed completion mode"
            ),
        ),
        (
            {"spec.backoffLimitPerIndex": GONE, "status.failedIndexes": "0"},
            'status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
        ),
        (
            {"status.startTime": END},
            f'status.startTime: Invalid value: "{END}": field is immutable for unsuspended job once set',
        ),
        (
            {"status.startTime": GONE},
            "status.startTime: Required value: startTime cannot be removed for unsuspended job",
        ),
    ],
)
def test_validate_job_status_rejects_contradicting_fields(edits, fault):
    assert after(edits) == [fault]


@pytest.mark.parametrize("type_", ["Failed", "Complete", "FailureTarget"])
def test_validate_job_status_rejects_leaving_finished_state(type_):
    faults = after({"status.conditions": []}, {"status.conditions": conditions(type_)})
    assert f"status.conditions: Invalid value: cannot disable the terminal {type_}=True condition" in faults


def test_validate_job_status_rejects_removal_of_success_criteria_met():
    assert after({"status.conditions": []}, {"status.conditions": conditions("SuccessCriteriaMet")}) == [
        "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition"
    ]


@pytest.mark.parametrize("name", ["failed", "succeeded"])
def test_validate_job_status_rejects_decreasing_counters(name):
    assert after({f"status.{name}": 1}, {f"status.{name}": 2}) == [
        f"status.{name}: Invalid value: 1: cannot decrease the {name} counter"
    ]


def test_validate_job_status_accepts_fewer_successes_when_indexed_job_shrinks():
    assert after({"status.succeeded": 1}, {"spec.parallelism": 5, "status.succeeded": 2}) == []


def test_validate_job_status_accepts_removed_start_time_of_suspended_job():
    assert after({"status.startTime": GONE, "status.active": 0}, {"spec.suspend": True}) == []


def test_validate_job_status_rejects_change_of_completion_time():
    later = "2026-01-01T00:02:00Z"
    assert after({"status.completionTime": later}, COMPLETE) == [
        f'status.completionTime: Invalid value: "{later}": field is immutable'
    ]


def test_validate_job_status_skips_unchanged_invalid_fields():
    broken = {"status.conditions": conditions("Failed"), "status.active": 0}
    assert after({"status.failed": 1}, broken) == []
