from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.admissionregistration.shared.matching import (
    check_enum,
    validate_conditions,
    validate_match,
    validate_rule,
)

RULE = {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [RULE]}
CONDITION = {"name": "a", "expression": "true"}
HERE = Path("r")


@pytest.mark.parametrize(
    ("value", "faults"),
    [(None, []), ("A", []), ("C", ['r: Unsupported value: "C": supported values: "A", "B"'])],
)
def test_check_enum_accepts_absent_and_supported_values(value, faults):
    assert texts(check_enum(value, ("A", "B"), HERE)) == faults


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"operations": ["*"]},
        {"apiGroups": [""], "scope": "Namespaced"},
        {"resources": ["*/*"]},
        {"resources": ["*", "pods/status"]},
        {"resources": ["pods", "pods/*"]},
    ],
)
def test_validate_rule_accepts_valid_rules(edits):
    assert texts(validate_rule(edited(RULE, edits), HERE)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"operations": []}, "r.operations: Required value"),
        (
            {"operations": ["*", "CREATE"]},
            'r.operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
        ),
        (
            {"operations": ["READ"]},
            (
                'r.operations[0]: Unsupported value: "READ": '
                'supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"'
            ),
        ),
        ({"apiGroups": []}, "r.apiGroups: Required value"),
        (
            {"apiGroups": ["*", "apps"]},
            'r.apiGroups: Invalid value: ["*","apps"]: if \'*\' is present, must not specify other API groups',
        ),
        ({"apiVersions": [""]}, "r.apiVersions[0]: Required value"),
        (
            {"apiVersions": ["*", "v1"]},
            'r.apiVersions: Invalid value: ["*","v1"]: if \'*\' is present, must not specify other API versions',
        ),
        ({"resources": []}, "r.resources: Required value"),
        ({"resources": [""]}, "r.resources[0]: Required value"),
        (
            {"resources": ["pods/*", "pods/status"]},
            "r.resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status",
        ),
        (
            {"resources": ["*/scale", "pods/scale"]},
            "r.resources[1]: Invalid value: \"pods/scale\": if '*/scale' is present, must not specify pods/scale",
        ),
        (
            {"resources": ["*/*", "pods"]},
            'r.resources: Invalid value: ["*/*","pods"]: if \'*/*\' is present, must not specify other resources',
        ),
        (
            {"resources": ["*", "pods"]},
            (
                'r.resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources without '
                "subresources"
            ),
        ),
        ({"scope": "World"}, 'r.scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"'),
    ],
)
def test_validate_rule_rejects_invalid_rules(edits, fault):
    assert texts(validate_rule(edited(RULE, edits), HERE)) == [fault]


@pytest.mark.parametrize(
    ("conditions", "fault"),
    [
        ([{"name": "a", "expression": " "}], "r[0].expression: Required value"),
        ([{"expression": "true"}], "r[0].name: Required value"),
        ([CONDITION, CONDITION], 'r[1].name: Duplicate value: "a"'),
        ([{**CONDITION, "name": f"a{n}"} for n in range(65)], "r: Too many: 65: must have at most 64 items"),
    ],
)
def test_validate_conditions_rejects_invalid_conditions(conditions, fault):
    assert texts(validate_conditions(conditions, HERE)) == [fault]


def test_validate_conditions_accepts_qualified_names():
    [fault] = texts(validate_conditions([{**CONDITION, "name": "a b"}], HERE))
    assert fault.startswith('r[0].name: Invalid value: "a b": ')


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"matchPolicy": None}, "r.matchPolicy: Required value"),
        (
            {"matchPolicy": "Loose"},
            'r.matchPolicy: Unsupported value: "Loose": supported values: "Equivalent", "Exact"',
        ),
        ({"namespaceSelector": None}, "r.namespaceSelector: Required value"),
        ({"objectSelector": None}, "r.objectSelector: Required value"),
        ({"resourceRules.0.operations": []}, "r.resourceRules[0].operations: Required value"),
        (
            {"resourceRules.0.resourceNames": ["a", "a"]},
            'r.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
        ),
        (
            {"excludeResourceRules": [{**RULE, "resourceNames": ["a/b"]}]},
            "r.excludeResourceRules[0].resourceNames[0]: Invalid value: \"a/b\": may not contain '/'",
        ),
    ],
)
def test_validate_match_rejects_invalid_matches(edits, fault):
    assert texts(validate_match(edited(MATCH, edits), HERE)) == [fault]


def test_validate_match_accepts_valid_match():
    assert texts(validate_match(MATCH, HERE)) == []
