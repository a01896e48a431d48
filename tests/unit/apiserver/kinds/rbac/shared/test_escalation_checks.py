"""Escalation checks of writes."""

from datetime import UTC, datetime

import pytest

from steersman.apiserver.kinds.rbac.clusterrole import ClusterRoleStrategy
from steersman.apiserver.kinds.rbac.role import RoleStrategy
from steersman.apiserver.kinds.rbac.rolebinding import RoleBindingStrategy
from steersman.apiserver.kinds.rbac.shared.escalation_checks import policy_rules
from steersman.apiserver.request import RequestContext, UserInfo

CTX = RequestContext(UserInfo("alice"), datetime(2030, 1, 1, tzinfo=UTC), path_name="r")


class Guard:
    def __init__(self):
        self.calls = []

    def check_role(self, user, rules, **more):
        self.calls.append(more)

    def check_binding(self, user, ref, **more):
        self.calls.append({"ref": ref.name, **more})


@pytest.fixture
def guard():
    return Guard()


def tree(namespace="ns", **more):
    metadata = {"name": "r", **({"namespace": namespace} if namespace else {})}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, **more}


def test_create_is_checked(guard):
    RoleStrategy(guard).prepare_for_create(CTX, tree())
    ClusterRoleStrategy(guard).prepare_for_create(CTX, tree("", aggregationRule={"clusterRoleSelectors": [{}]}))
    RoleBindingStrategy(guard).prepare_for_create(CTX, tree(roleRef={"kind": "Role", "name": "x"}))
    common = {"name": "r", "path_name": "r"}
    assert guard.calls == [
        {"kind": "Role", "namespace": "ns", "aggregates": False, **common},
        {"kind": "ClusterRole", "namespace": "", "aggregates": True, **common},
        {"kind": "RoleBinding", "namespace": "ns", "name": "r", "ref": "x"},
    ]


def test_update_skips_changes_of_garbage_collection_metadata_only(guard):
    strategy = RoleStrategy(guard)
    old = tree(rules=[{"verbs": ["get"]}])
    strategy.prepare_for_update(CTX, tree(rules=[{"verbs": ["get"]}], metadata={"finalizers": ["a/b"]}), old)
    assert guard.calls == []
    strategy.prepare_for_update(CTX, tree(rules=[{"verbs": ["get"]}], metadata={"labels": {"a": "b"}}), old)
    assert len(guard.calls) == 1


def test_update_that_removes_aggregation_is_checked_as_aggregating(guard):
    old = tree("", aggregationRule={"clusterRoleSelectors": [{}]})
    ClusterRoleStrategy(guard).prepare_for_update(CTX, tree(""), old)
    assert guard.calls[0]["aggregates"]


def test_writes_are_unchecked_without_guard():
    RoleStrategy().prepare_for_create(CTX, tree())


def test_policy_rules_reads_invalid_rules():
    [read] = policy_rules({"rules": [{"verbs": None, "resources": ["pods"]}]})
    assert (read.verbs, read.resources) == ((), ("pods",))
