from __future__ import annotations

import pytest
from tests.unit.apiserver.registry.samples import CONTEXT, NOW, named, texts

from steersman.apiserver.registry.admissionregistration.validatingadmissionpolicy import (
    ValidatingAdmissionPolicyStrategy,
)

STRATEGY = ValidatingAdmissionPolicyStrategy()


def test_the_row_counts_validations():
    assert STRATEGY.columns[1].name == "Validations"
    assert STRATEGY.cells(named(spec={"validations": [{}, {}, {}]}), NOW)[1] == 3


def test_rules_hold_for_every_write():
    empty = named(spec={})
    faults = texts(STRATEGY.validate(CONTEXT, empty))
    assert "spec.validations: Required value: validations or auditAnnotations must contain at least one item" in faults
    assert texts(STRATEGY.validate_update(CONTEXT, empty, empty)) == faults


@pytest.mark.parametrize(("name", "is_fine"), [("a.b", True), ("A", False)])
def test_names_are_those_of_dns(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine
