from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, named, texts

from steersman.apiserver.kinds.rbac.rolebinding import RoleBindingStrategy

STRATEGY = RoleBindingStrategy()


def binding(role_kind: str, *subjects: dict) -> dict:
    return defaulted(STRATEGY, named(roleRef={"kind": role_kind, "name": "r"}, subjects=list(subjects)))


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_validate_accepts_role_and_cluster_role(kind):
    assert texts(STRATEGY.validate(CONTEXT, binding(kind))) == []


def test_validate_rejects_other_kinds():
    assert texts(STRATEGY.validate(CONTEXT, binding("Rule"))) == [
        'roleRef.kind: Unsupported value: "Rule": supported values: "Role", "ClusterRole"'
    ]


def test_default_sets_namespace_of_service_account():
    assert texts(STRATEGY.validate(CONTEXT, binding("Role", {"kind": "ServiceAccount", "name": "s"}))) == []
