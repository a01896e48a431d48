from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, named, texts

from steersman.apiserver.kinds.rbac.rolebinding import RoleBindingStrategy

STRATEGY = RoleBindingStrategy()


def binding(role_kind: str, *subjects: dict) -> dict:
    return defaulted(STRATEGY, named(roleRef={"kind": role_kind, "name": "r"}, subjects=list(subjects)))


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_both_kinds_of_roles_are_given(kind):
    assert texts(STRATEGY.validate(CONTEXT, binding(kind))) == []


def test_other_kinds_are_no_roles():
    assert texts(STRATEGY.validate(CONTEXT, binding("Rule"))) == [
        'roleRef.kind: Unsupported value: "Rule": supported values: "Role", "ClusterRole"'
    ]


def test_a_service_account_without_a_namespace_is_of_the_bindings():
    assert texts(STRATEGY.validate(CONTEXT, binding("Role", {"kind": "ServiceAccount", "name": "s"}))) == []
