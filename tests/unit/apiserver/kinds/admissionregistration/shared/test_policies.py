from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named

from steersman.apiserver.kinds.admissionregistration.shared.policies import default_match
from steersman.apiserver.kinds.admissionregistration.validatingadmissionpolicy import (
    ValidatingAdmissionPolicyStrategy,
)
from steersman.apiserver.kinds.admissionregistration.validatingadmissionpolicybinding import (
    ValidatingAdmissionPolicyBindingStrategy,
)

POLICIES, BINDINGS = ValidatingAdmissionPolicyStrategy(), ValidatingAdmissionPolicyBindingStrategy()


def test_default_match_sets_equivalent_match_policy_and_empty_selectors():
    match = {"resourceRules": [{}], "excludeResourceRules": [{"scope": "Cluster"}]}
    default_match(match)
    assert match == {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [{"scope": "*"}],
        "excludeResourceRules": [{"scope": "Cluster"}],
    }


def test_binding_default_leaves_parameter_not_found_action_unset():
    spec = defaulted(BINDINGS, named(spec={"policyName": "p", "paramRef": {"name": "p"}}))["spec"]
    assert spec["paramRef"] == {"name": "p"}


@pytest.mark.parametrize(("fields", "policy"), [({}, "Fail"), ({"failurePolicy": "Ignore"}, "Ignore")])
def test_policy_default_sets_failure_policy_fail(fields, policy):
    assert defaulted(POLICIES, named(spec=dict(fields)))["spec"] == {"failurePolicy": policy}


def test_binding_default_leaves_absent_match_resources_unset():
    assert defaulted(BINDINGS, named(spec={"policyName": "p"}))["spec"] == {"policyName": "p"}


def test_policy_prepare_for_status_update_keeps_spec_and_metadata():
    old = named(spec={"failurePolicy": "Fail"})
    new = edited(old, {"metadata.labels": {"a": "b"}, "spec.failurePolicy": "Ignore", "status.observedGeneration": 1})
    POLICIES.prepare_for_status_update(CONTEXT, new, old)
    assert new == {**old, "status": {"observedGeneration": 1}}


@pytest.mark.parametrize(
    ("kind", "shown"), [(None, "<unset>"), ({"apiVersion": "example.com/v1", "kind": "Limit"}, "example.com/v1/Limit")]
)
def test_policy_cells_show_rules_and_param_kind(kind, shown):
    policy = named(spec={"validations": [{}, {}], "paramKind": kind})
    assert POLICIES.cells(policy, NOW) == ["a", 2, shown, "60s"]


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (None, "<unset>"),
        ({"name": "p"}, "*/p"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        (
            {"selector": {"matchLabels": {"a": "b"}}, "namespace": "n"},
            "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
        (
            {"selector": {}},
            "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
    ],
)
def test_binding_cells_show_policy_and_params(reference, shown):
    binding = named(spec={"policyName": "p", "paramRef": reference})
    assert BINDINGS.cells(binding, NOW) == ["a", "p", shown, "60s"]
