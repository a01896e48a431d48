from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, named, texts

from steersman.apiserver.kinds.admissionregistration.mutatingadmissionpolicy import MutatingAdmissionPolicyStrategy

STRATEGY = MutatingAdmissionPolicyStrategy()


def test_the_row_counts_mutations():
    assert STRATEGY.columns[1].name == "Mutations"
    assert STRATEGY.cells(named(spec={"mutations": [{}, {}, {}]}), NOW)[1] == 3


def test_rules_hold_for_every_write():
    empty = named(spec={})
    faults = texts(STRATEGY.validate(CONTEXT, empty))
    assert "spec.mutations: Required value: mutations must contain at least one item" in faults
    assert texts(STRATEGY.validate_update(CONTEXT, empty, empty)) == faults


@pytest.mark.parametrize(("name", "is_fine"), [("a.b", True), ("A", False)])
def test_names_are_those_of_dns(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine
