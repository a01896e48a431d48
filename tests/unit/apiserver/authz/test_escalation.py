"""Escalation checks."""

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.authz.escalation import EscalationGuard
from steersman.apiserver.authz.policy import PolicyRule, RoleRef
from steersman.apiserver.authz.rbac import RBAC
from steersman.apiserver.authz.rbac_index import RBACIndex
from steersman.apiserver.request import UserInfo

from .rules import bind, role, rule, user

ALICE = UserInfo("alice", ("system:authenticated",))
ADMIN = UserInfo("root", ("system:masters",))
SECRETS = (PolicyRule(("get",), ("",), ("secrets",)),)
PODS = (PolicyRule(("get",), ("",), ("pods",)),)


@pytest.fixture
def index():
    index = RBACIndex()
    role(index, "r", rule("get", "pods"), namespace="ns")
    bind(index, "r", user("alice"), namespace="ns")
    return index


@pytest.fixture
def guard(index):
    rbac = RBAC(index)
    return EscalationGuard(rbac, rbac)


def write_role(guard, caller, rules, *, path_name="", **more):
    guard.check_role(caller, rules, kind="Role", namespace="ns", name="new", path_name=path_name, **more)


def test_check_role_allows_held_rules(guard):
    write_role(guard, ALICE, PODS)
    write_role(guard, ADMIN, SECRETS)


def test_check_role_lists_missing_rules(guard):
    with pytest.raises(StatusError) as refused:
        write_role(guard, ALICE, SECRETS)
    assert refused.value.code == 403
    assert refused.value.message == (
        'roles.rbac.authorization.k8s.io "new" is forbidden: user "alice" (groups=["system:authenticated"])'
        " is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )


def test_check_role_lists_bindings_to_missing_roles(guard, index):
    bind(index, "x", user("alice"), namespace="ns", to="gone")
    with pytest.raises(StatusError, match=r'resolution errors: .*"gone" not found'):
        write_role(guard, ALICE, SECRETS)


def test_check_role_requires_escalate_without_name_for_create(guard, index):
    role(index, "e", rule("escalate", "roles", groups="rbac.authorization.k8s.io", names="new"), namespace="ns")
    bind(index, "e", user("alice"), namespace="ns")
    write_role(guard, ALICE, SECRETS, path_name="new")
    with pytest.raises(StatusError):
        write_role(guard, ALICE, SECRETS)


def test_check_role_requires_all_permissions_for_aggregation(guard, index):
    with pytest.raises(StatusError, match="must have cluster-admin privileges to use the aggregationRule"):
        write_role(guard, ALICE, PODS, aggregates=True)
    role(index, "all", rule("*", "*", groups="*"), {"verbs": ["*"], "nonResourceURLs": ["*"]})
    bind(index, "all", user("alice"))
    write_role(guard, ALICE, PODS, aggregates=True)


def write_binding(guard, caller, ref):
    guard.check_binding(caller, ref, kind="RoleBinding", namespace="ns", name="b")


def test_check_binding_requires_held_rules_or_bind(guard, index):
    role(index, "strong", rule("get", "secrets"))
    ref = RoleRef("ClusterRole", "strong")
    write_binding(guard, ADMIN, ref)
    with pytest.raises(StatusError, match=r'rolebindings\.rbac\.authorization\.k8s\.io "b" is forbidden'):
        write_binding(guard, ALICE, ref)
    role(index, "b", rule("bind", "clusterroles", groups="rbac.authorization.k8s.io", names="strong"), namespace="ns")
    bind(index, "b", user("alice"), namespace="ns")
    write_binding(guard, ALICE, ref)
    write_binding(guard, ALICE, RoleRef("Role", "r"))


def test_check_binding_raises_404_for_cluster_role_bindings_to_roles(guard, index):
    role(index, "strong", rule("get", "secrets"))
    with pytest.raises(StatusError) as refused:
        guard.check_binding(ALICE, RoleRef("Role", "strong"), kind="ClusterRoleBinding", namespace="", name="b")
    assert (refused.value.code, refused.value.message) == (404, 'role.rbac.authorization.k8s.io "strong" not found')


@pytest.mark.parametrize("kind", ["", "Group"])
def test_check_binding_raises_500_for_unknown_kind_of_role(guard, kind):
    with pytest.raises(StatusError) as refused:
        write_binding(guard, ALICE, RoleRef(kind, "r"))
    assert (refused.value.code, refused.value.message) == (500, f'unsupported role reference kind: "{kind}"')
    write_binding(guard, ADMIN, RoleRef(kind, "r"))


def test_check_binding_raises_404_for_missing_role(guard):
    with pytest.raises(StatusError) as refused:
        write_binding(guard, ALICE, RoleRef("Role", "none"))
    assert (refused.value.code, refused.value.message) == (404, 'role.rbac.authorization.k8s.io "none" not found')
