from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, defaulted, edited, named, texts

from steersman.apiserver.kinds.admissionregistration.shared.policy_validation import (
    validate_binding,
    validate_mutating_policy,
    validate_validating_policy,
)
from steersman.apiserver.kinds.admissionregistration.validatingadmissionpolicy import (
    ValidatingAdmissionPolicyStrategy,
)
from steersman.apiserver.kinds.admissionregistration.validatingadmissionpolicybinding import (
    ValidatingAdmissionPolicyBindingStrategy,
)

RULE = {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
VALID = defaulted(
    ValidatingAdmissionPolicyStrategy(),
    named(spec={"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}),
)
MUTATING = edited(
    VALID,
    {
        "spec.validations": GONE,
        "spec.reinvocationPolicy": "Never",
        "spec.mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test'}]"}}],
    },
)
BINDING = defaulted(
    ValidatingAdmissionPolicyBindingStrategy(),
    named(
        spec={
            "policyName": "p",
            "paramRef": {"name": "q", "parameterNotFoundAction": "Deny"},
            "matchResources": {},
            "validationActions": ["Deny"],
        }
    ),
)
RULES, MUTATION = "spec.validations.0", "spec.mutations[0]"
EITHER = "validations or auditAnnotations must contain at least one item"


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"spec.paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"}},
        {"spec.variables": [{"name": "a_1", "expression": "1"}]},
        {"spec.validations": [], "spec.auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]},
        {f"{RULES}.message": "no", f"{RULES}.reason": "Forbidden"},
    ],
)
def test_validate_validating_policy_accepts_valid_policies(edits):
    assert texts(validate_validating_policy(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({"spec.failurePolicy": None}, ["spec.failurePolicy: Required value"]),
        ({"spec.matchConstraints": None}, ["spec.matchConstraints: Required value"]),
        ({"spec.matchConstraints.resourceRules": []}, ["spec.matchConstraints.resourceRules: Required value"]),
        (
            {"spec.validations": []},
            [f"spec.validations: Required value: {EITHER}", f"spec.auditAnnotations: Required value: {EITHER}"],
        ),
        (
            {f"{RULES}.expression": " "},
            ["spec.validations[0].expression: Required value: expression is not specified"],
        ),
        (
            {f"{RULES}.message": "a\nb"},
            ['spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks'],
        ),
        (
            {f"{RULES}.message": " "},
            ['spec.validations[0].message: Invalid value: " ": must be non-empty if specified'],
        ),
        (
            {f"{RULES}.reason": "Other"},
            [
                (
                    'spec.validations[0].reason: Unsupported value: "Other": '
                    'supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"'
                )
            ],
        ),
        (
            {"spec.variables": [{"name": "a-b", "expression": "1"}]},
            ['spec.variables[0].name: Invalid value: "a-b": must be a valid CEL identifier'],
        ),
        (
            {"spec.variables": [{"name": "if", "expression": "1"}]},
            ['spec.variables[0].name: Invalid value: "if": must be a valid CEL identifier'],
        ),
        (
            {"spec.variables": [{"name": "a"}]},
            ["spec.variables[0].expression: Required value: expression is not specified"],
        ),
        (
            {"spec.paramKind": {"apiVersion": "a/b/c", "kind": "K"}},
            ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        ({"spec.paramKind": {"apiVersion": "v1"}}, ["spec.paramKind.kind: Required value"]),
        (
            {"spec.auditAnnotations": [{"key": "k", "valueExpression": "'v'"}] * 2},
            ['spec.auditAnnotations[1].key: Duplicate value: "k"'],
        ),
        (
            {"spec.auditAnnotations": [{"key": "k"}]},
            ["spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified"],
        ),
        (
            {"spec.matchConditions": [{"name": "a"}]},
            ["spec.matchConditions[0].expression: Required value"],
        ),
    ],
)
def test_validate_validating_policy_rejects_invalid_fields(edits, faults):
    assert texts(validate_validating_policy(edited(VALID, edits))) == faults


def test_validate_validating_policy_shows_too_many_annotations_in_go_form():
    annotations = [{"key": f"k{number}", "valueExpression": "'v'"} for number in range(21)]
    (fault,) = texts(validate_validating_policy(edited(VALID, {"spec.auditAnnotations": annotations})))
    assert fault.startswith('spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExpression":"\'v\'"},')


def test_validate_validating_policy_compiles_annotation_without_surrounding_spaces():
    annotations = [{"key": "k", "valueExpression": "  nothing"}]
    (fault,) = texts(validate_validating_policy(edited(VALID, {"spec.auditAnnotations": annotations})))
    assert fault.startswith('spec.auditAnnotations[0].valueExpression: Invalid value: "  nothing": ')
    assert "<input>:1:1:" in fault


def test_validate_mutating_policy_accepts_valid_policy():
    assert texts(validate_mutating_policy(MUTATING)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.mutations": []}, "spec.mutations: Required value: mutations must contain at least one item"),
        ({"spec.reinvocationPolicy": ""}, "spec.reinvocationPolicy: Required value"),
        (
            {"spec.reinvocationPolicy": "Often"},
            'spec.reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"',
        ),
        ({"spec.mutations.0.patchType": ""}, f"{MUTATION}.patchType: Required value"),
        (
            {"spec.mutations.0.patchType": "Merge"},
            f'{MUTATION}.patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"',
        ),
        (
            {"spec.mutations.0.jsonPatch": None},
            f"{MUTATION}.jsonPatch: Required value: must be specified when patchType is JSONPatch",
        ),
        (
            {"spec.mutations.0.jsonPatch.expression": ""},
            f"{MUTATION}.jsonPatch.expression: Required value",
        ),
        (
            {"spec.mutations.0.applyConfiguration": {"expression": "Object{}"}},
            (
                f'{MUTATION}.applyConfiguration: Invalid value: "{{applyConfiguration}}": '
                "must not be specified when patchType is JSONPatch"
            ),
        ),
    ],
)
def test_validate_mutating_policy_rejects_invalid_fields(edits, fault):
    assert texts(validate_mutating_policy(edited(MUTATING, edits))) == [fault]


def test_validate_binding_accepts_valid_binding():
    assert texts(validate_binding(BINDING, with_actions=True)) == []


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({"spec.policyName": ""}, ["spec.policyName: Required value"]),
        (
            {"spec.paramRef.selector": {}},
            [
                f"spec.paramRef.{name}: Forbidden: name and selector are mutually exclusive"
                for name in ("name", "selector")
            ],
        ),
        ({"spec.paramRef.name": ""}, ["spec.paramRef: Required value: one of name or selector must be specified"]),
        ({"spec.paramRef.parameterNotFoundAction": None}, ["spec.paramRef.parameterNotFoundAction: Required value"]),
        (
            {"spec.paramRef.parameterNotFoundAction": "Maybe"},
            [
                'spec.paramRef.parameterNotFoundAction: Unsupported value: "Maybe": supported values: "Deny", "Allow"',
            ],
        ),
        ({"spec.matchResources.matchPolicy": None}, ["spec.matchResources.matchPolicy: Required value"]),
        (
            {"spec.validationActions": []},
            ["spec.validationActions: Required value: at least one validation action is required"],
        ),
        ({"spec.validationActions": ["Deny", "Deny"]}, ['spec.validationActions[1]: Duplicate value: "Deny"']),
        (
            {"spec.validationActions": ["Deny", "Warn"]},
            [
                (
                    'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the'
                    " same validation failure information in the API response and headers serves no purpose)"
                )
            ],
        ),
        (
            {"spec.validationActions": ["Shout"]},
            ['spec.validationActions[0]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"'],
        ),
    ],
)
def test_validate_binding_rejects_invalid_fields(edits, faults):
    assert texts(validate_binding(edited(BINDING, edits), with_actions=True)) == faults
