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


def test_a_match_is_by_equivalence_and_selects_everything():
    match = {"resourceRules": [{}], "excludeResourceRules": [{"scope": "Cluster"}]}
    default_match(match)
    assert match == {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [{"scope": "*"}],
        "excludeResourceRules": [{"scope": "Cluster"}],
    }


def test_binding_defaults_leave_out_parameter_not_found_action():
    spec = defaulted(BINDINGS, named(spec={"policyName": "p", "paramRef": {"name": "p"}}))["spec"]
    assert spec["paramRef"] == {"name": "p"}


@pytest.mark.parametrize(("said", "policy"), [({}, "Fail"), ({"failurePolicy": "Ignore"}, "Ignore")])
def test_a_policy_that_cannot_be_asked_fails(said, policy):
    assert defaulted(POLICIES, named(spec=dict(said)))["spec"] == {"failurePolicy": policy}


def test_a_binding_without_match_gets_none():
    assert defaulted(BINDINGS, named(spec={"policyName": "p"}))["spec"] == {"policyName": "p"}


def test_a_status_write_keeps_spec_and_metadata():
    old = named(spec={"failurePolicy": "Fail"})
    new = edited(old, {"metadata.labels": {"a": "b"}, "spec.failurePolicy": "Ignore", "status.observedGeneration": 1})
    POLICIES.prepare_for_status_update(CONTEXT, new, old)
    assert new == {**old, "status": {"observedGeneration": 1}}


@pytest.mark.parametrize(
    ("kind", "shown"), [(None, "<unset>"), ({"apiVersion": "example.com/v1", "kind": "Limit"}, "example.com/v1/Limit")]
)
def test_the_row_of_a_policy_shows_rules_and_parameters(kind, shown):
    policy = named(spec={"validations": [{}, {}], "paramKind": kind})
    assert POLICIES.cells(policy, NOW) == ["a", 2, shown, "60s"]


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (None, "<unset>"),
        ({"name": "p"}, "*/p"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        ({"selector": {"matchLabels": {"a": "b"}}}, "*/a=b"),
        ({"selector": {"matchLabels": {"a": "b"}}, "namespace": "n"}, "n/a=b"),
    ],
)
def test_the_row_of_a_binding_shows_its_parameters(reference, shown):
    binding = named(spec={"policyName": "p", "paramRef": reference})
    assert BINDINGS.cells(binding, NOW) == ["a", "p", shown, "60s"]
