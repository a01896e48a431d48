from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, named, texts

from steersman.apiserver.kinds.admissionregistration.validatingadmissionpolicy import (
    ValidatingAdmissionPolicyStrategy,
)

STRATEGY = ValidatingAdmissionPolicyStrategy()


def test_cells_count_validations():
    assert STRATEGY.columns[1].name == "Validations"
    assert STRATEGY.cells(named(spec={"validations": [{}, {}, {}]}), NOW)[1] == 3


def test_validate_and_validate_update_apply_same_rules():
    empty = named(spec={})
    faults = texts(STRATEGY.validate(CONTEXT, empty))
    assert "spec.validations: Required value: validations or auditAnnotations must contain at least one item" in faults
    assert texts(STRATEGY.validate_update(CONTEXT, empty, empty)) == faults


@pytest.mark.parametrize(("name", "is_fine"), [("a.b", True), ("A", False)])
def test_name_errors_require_dns_subdomain(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


def test_validate_status_update_checks_type_checking_and_conditions():
    status = {
        "typeChecking": {
            "expressionWarnings": [{"fieldRef": "spec.validations[0]", "warning": "w"}, {"fieldRef": " "}]
        },
        "conditions": [{"type": "a b", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    faults = STRATEGY.validate_status_update(CONTEXT, named(status=status), named())
    assert [fault.field for fault in faults] == [
        "status.typeChecking.expressionWarnings[1].warning",
        "status.typeChecking.expressionWarnings[1].fieldRef",
        "status.conditions[0].type",
    ]
    assert STRATEGY.validate_status_update(CONTEXT, named(), named()) == []


def test_validate_status_update_parses_field_references_as_jsonpath():
    references = ["spec.validations[0].expression", ".spec['a']", " spec.a ", "spec.validations[", " #"]
    warnings = [{"fieldRef": reference, "warning": "w"} for reference in references]
    faults = STRATEGY.validate_status_update(
        CONTEXT, named(status={"typeChecking": {"expressionWarnings": warnings}}), named()
    )
    path = "status.typeChecking.expressionWarnings"
    assert texts(faults) == [
        f'{path}[3].fieldRef: Invalid value: "spec.validations[": invalid JSONPath: unterminated array',
        f"{path}[4].fieldRef: Invalid value: \"#\": invalid JSONPath: unrecognized character in action: U+0023 '#'",
    ]


def test_warnings_about_names_of_manifest_based_configurations():
    (text,) = STRATEGY.warnings(CONTEXT, {"metadata": {"name": "a.static.k8s.io"}}, None)
    assert text.startswith('metadata.name: names ending with ".static.k8s.io" will be reserved')
    assert STRATEGY.warnings(CONTEXT, {"metadata": {"name": "a.k8s.io"}}, None) == ()
