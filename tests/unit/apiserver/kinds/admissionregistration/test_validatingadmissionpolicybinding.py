from __future__ import annotations

from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, named, texts

from steersman.apimachinery.managedfields.zero import zero_value
from steersman.apiserver.kinds.admissionregistration.validatingadmissionpolicybinding import (
    ValidatingAdmissionPolicyBindingStrategy,
)
from steersman.schema.loader import struct_for

STRATEGY = ValidatingAdmissionPolicyBindingStrategy()
BINDING = defaulted(STRATEGY, named(spec={"policyName": "p"}))


def test_validate_requires_validation_actions():
    fault = "spec.validationActions: Required value: at least one validation action is required"
    assert texts(STRATEGY.validate(CONTEXT, BINDING)) == [fault]
    assert texts(STRATEGY.validate_update(CONTEXT, BINDING, BINDING)) == [fault]


def test_validate_accepts_deny_action():
    denies = defaulted(STRATEGY, named(spec={"policyName": "p", "validationActions": ["Deny", "Audit"]}))
    assert texts(STRATEGY.validate(CONTEXT, denies)) == []


def test_zero_value_has_no_validation_actions():
    binding = struct_for("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding")
    assert "validationActions" not in zero_value(binding)["spec"]
