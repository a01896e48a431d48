from __future__ import annotations

from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, named, texts

from steersman.apiserver.kinds.admissionregistration.mutatingadmissionpolicybinding import (
    MutatingAdmissionPolicyBindingStrategy,
)

STRATEGY = MutatingAdmissionPolicyBindingStrategy()
BINDING = defaulted(STRATEGY, named(spec={"policyName": "p"}))


def test_validate_accepts_binding_without_validation_actions():
    assert texts(STRATEGY.validate(CONTEXT, BINDING)) == []


def test_validate_requires_policy_name():
    fault = "spec.policyName: Required value"
    assert texts(STRATEGY.validate(CONTEXT, named(spec={}))) == [fault]
    assert texts(STRATEGY.validate_update(CONTEXT, named(spec={}), BINDING)) == [fault]
