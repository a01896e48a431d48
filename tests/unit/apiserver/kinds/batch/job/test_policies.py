from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.batch.job.policies import validate_failure_policy, validate_success_policy

TEMPLATE = {"spec": {"containers": [{"name": "main"}], "initContainers": [{"name": "init"}]}}
CONDITION = {"type": "DisruptionTarget", "status": "True"}


def of_failures(*rules: dict, **spec: object) -> list[str]:
    return texts(
        validate_failure_policy({"podFailurePolicy": {"rules": rules}, "template": TEMPLATE, **spec}, Path("p"))
    )


def of_exit_codes(**requirement: object) -> list[str]:
    return of_failures({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1], **requirement}})


def of_success(*rules: dict, completions: int = 5) -> list[str]:
    return texts(validate_success_policy({"successPolicy": {"rules": rules}, "completions": completions}, Path("p")))


@pytest.mark.parametrize("action", ["Count", "FailJob", "Ignore"])
def test_validate_failure_policy_accepts_actions_of_all_jobs(action):
    assert of_failures({"action": action, "onPodConditions": [CONDITION]}) == []


def test_validate_failure_policy_requires_backoff_limit_per_index_for_fail_index():
    rule = {"action": "FailIndex", "onPodConditions": [CONDITION]}
    assert of_failures(rule, backoffLimitPerIndex=1) == []
    assert of_failures(rule) == [
        'p.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'
    ]


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (
            {"action": "Other", "onPodConditions": [CONDITION]},
            'p.rules[0].action: Unsupported value: "Other": supported values: "Count", "FailIndex", "FailJob", "Ignore"',
        ),
        (
            {"onPodConditions": [CONDITION]},
            'p.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
        ),
        (
            {"action": "Count"},
            "p.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ),
        (
            {"action": "Count", "onPodConditions": [CONDITION], "onExitCodes": {"operator": "In", "values": [1]}},
            "p.rules[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",
        ),
        (
            {"action": "Count", "onPodConditions": [{"type": "A"}]},
            'p.rules[0].onPodConditions[0].status: Required value: valid values: ["False" "True" "Unknown"]',
        ),
    ],
)
def test_validate_failure_policy_rejects_invalid_rules(rule, fault):
    assert of_failures(rule) == [fault]


@pytest.mark.parametrize(
    ("requirement", "fault"),
    [
        (
            {"operator": "Like"},
            'p.rules[0].onExitCodes.operator: Unsupported value: "Like": supported values: "In", "NotIn"',
        ),
        (
            {"containerName": "other"},
            (
                'p.rules[0].onExitCodes.containerName: Invalid value: "other": '
                "must be one of the container or initContainer names in the pod template"
            ),
        ),
        ({"values": None}, "p.rules[0].onExitCodes.values: Invalid value: []: at least one value is required"),
        ({"values": []}, "p.rules[0].onExitCodes.values: Invalid value: []: at least one value is required"),
        (
            {"values": [0, 1]},
            "p.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
        ),
        ({"values": [1, 1]}, "p.rules[0].onExitCodes.values[1]: Duplicate value: 1"),
        ({"values": [2, 1]}, "p.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered"),
        (
            {"values": list(range(1, 257))},
            "p.rules[0].onExitCodes.values: Too many: 256: must have at most 255 items",
        ),
    ],
)
def test_validate_failure_policy_rejects_invalid_exit_codes(requirement, fault):
    assert of_exit_codes(**requirement) == [fault]


@pytest.mark.parametrize("requirement", [{"containerName": "init"}, {"operator": "NotIn", "values": [0, 2]}])
def test_validate_failure_policy_accepts_valid_exit_codes(requirement):
    assert of_exit_codes(**requirement) == []


def test_validate_failure_policy_limits_rules_to_20():
    assert of_failures(*[{"action": "Count", "onPodConditions": [CONDITION]}] * 21) == [
        "p.rules: Too many: 21: must have at most 20 items"
    ]


@pytest.mark.parametrize(
    "rule", [{"succeededCount": 5}, {"succeededIndexes": "0-2,4"}, {"succeededIndexes": "0-2", "succeededCount": 3}]
)
def test_validate_success_policy_accepts_valid_rules(rule):
    assert of_success(rule) == []


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ({}, "p.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified"),
        (
            {"succeededCount": 6},
            (
                "p.rules[0].succeededCount: Invalid value: 6: "
                "must be less than or equal to 5 (the number of specified completions)"
            ),
        ),
        (
            {"succeededCount": -1},
            "p.rules[0].succeededCount: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"succeededIndexes": "0-1", "succeededCount": 3},
            (
                "p.rules[0].succeededCount: Invalid value: 3: "
                "must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)"
            ),
        ),
        (
            {"succeededIndexes": "5"},
            'p.rules[0].succeededIndexes: Invalid value: "5": error parsing succeededIndexes: too large index: "5"',
        ),
    ],
)
def test_validate_success_policy_rejects_invalid_rules(rule, fault):
    assert of_success(rule) == [fault]


def test_validate_success_policy_requires_1_to_20_rules():
    assert of_success() == [
        "p.rules: Required value: at least one rules must be specified when the successPolicy is specified"
    ]
    assert of_success(*[{"succeededCount": 1}] * 21) == ["p.rules: Too many: 21: must have at most 20 items"]
