from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.behavior import validate_behavior

RULES = {"stabilizationWindowSeconds": 300, "selectPolicy": "Max"}
VALID = {"scaleUp": {**RULES, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}], "tolerance": "0.1"}}
POLICY, AT = "b.scaleUp.policies[0]", "scaleUp.policies.0"


@pytest.mark.parametrize("behavior", [None, {}, VALID])
def test_validate_behavior_accepts_valid_rules(behavior):
    assert texts(validate_behavior(behavior, Path("b"))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"scaleUp.stabilizationWindowSeconds": -1},
            "b.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
        ),
        (
            {"scaleUp.stabilizationWindowSeconds": 3601},
            "b.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
        ),
        (
            {"scaleUp.selectPolicy": "Any"},
            'b.scaleUp.selectPolicy: Unsupported value: "Any": supported values: "Disabled", "Max", "Min"',
        ),
        ({"scaleUp.policies": []}, "b.scaleUp.policies: Required value: must specify at least one Policy"),
        ({f"{AT}.type": "All"}, f'{POLICY}.type: Unsupported value: "All": supported values: "Percent", "Pods"'),
        ({f"{AT}.value": 0}, f"{POLICY}.value: Invalid value: 0: must be greater than zero"),
        ({f"{AT}.periodSeconds": 0}, f"{POLICY}.periodSeconds: Invalid value: 0: must be greater than zero"),
        (
            {f"{AT}.periodSeconds": 1801},
            f"{POLICY}.periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
        ),
        (
            {"scaleUp.tolerance": "-0.1"},
            'b.scaleUp.tolerance: Invalid value: "-0.1": must be greater than or equal to 0',
        ),
        ({"scaleDown": {}}, "b.scaleDown.policies: Required value: must specify at least one Policy"),
    ],
)
def test_validate_behavior_rejects_invalid_rules(edits, fault):
    assert texts(validate_behavior(edited(VALID, edits), Path("b"))) == [fault]
