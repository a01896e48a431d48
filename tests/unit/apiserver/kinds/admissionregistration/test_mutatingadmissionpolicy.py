from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, named, texts

from steersman.apiserver.kinds.admissionregistration.mutatingadmissionpolicy import MutatingAdmissionPolicyStrategy

STRATEGY = MutatingAdmissionPolicyStrategy()


def test_cells_count_mutations():
    assert STRATEGY.columns[1].name == "Mutations"
    assert STRATEGY.cells(named(spec={"mutations": [{}, {}, {}]}), NOW)[1] == 3


def test_validate_and_validate_update_apply_same_rules():
    empty = named(spec={})
    faults = texts(STRATEGY.validate(CONTEXT, empty))
    assert "spec.mutations: Required value: mutations must contain at least one item" in faults
    assert texts(STRATEGY.validate_update(CONTEXT, empty, empty)) == faults


@pytest.mark.parametrize(("name", "is_fine"), [("a.b", True), ("A", False)])
def test_name_errors_require_dns_subdomain(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine
