"""Authorization of kubelets."""

import pytest

from steersman.apiserver.authz.node import NodeAuthorizer, node_of
from steersman.apiserver.authz.node_graph import NodeGraph, PodReferences
from steersman.apiserver.authz.policy import PolicyRule
from steersman.apiserver.request import RequestInfo, UserInfo

NODE = UserInfo("system:node:n1", ("system:nodes", "system:authenticated"))
COORDINATION, STORAGE, DRA = "coordination.k8s.io", "storage.k8s.io", "resource.k8s.io"
ON_NODE = (("spec.nodeName", "n1", True),)


@pytest.fixture
def nodes():
    graph = NodeGraph()
    refs = [("Secret", "ns", "s"), ("ServiceAccount", "ns", "a"), ("PersistentVolumeClaim", "ns", "c")]
    graph.set_pod("ns", "p", PodReferences("n1", frozenset(refs)))
    graph.set_owned("ResourceSlice", "r", "n1")
    rules = [PolicyRule(("get", "list"), ("",), ("services",)), PolicyRule(("get",), non_resource_urls=("/x",))]
    return NodeAuthorizer(lambda: graph, lambda: rules)


def ask(verb, resource, name="", *, ns="", sub="", group="", fields=()):
    return RequestInfo(verb, "", True, group, "v1", ns, resource, name, sub, fields=fields)


@pytest.mark.parametrize(
    "info",
    [
        ask("get", "secrets", "s", ns="ns"),
        ask("watch", "secrets", "s", ns="ns"),
        ask("create", "serviceaccounts", "a", ns="ns", sub="token"),
        ask("get", "serviceaccounts", "a", ns="ns"),
        ask("get", "persistentvolumeclaims", "c", ns="ns"),
        ask("patch", "persistentvolumeclaims", "c", ns="ns", sub="status"),
        ask("get", "pods", "p", ns="ns"),
        ask("list", "pods", fields=ON_NODE),
        ask("watch", "pods", "p", ns="ns"),
        ask("create", "pods", ns="ns"),
        ask("delete", "pods", "x", ns="ns"),
        ask("update", "pods", "x", ns="ns", sub="status"),
        ask("create", "pods", "x", ns="ns", sub="eviction"),
        ask("create", "nodes"),
        ask("get", "nodes", "n1"),
        ask("patch", "nodes", "n1", sub="status"),
        ask("create", "leases", ns="kube-node-lease", group=COORDINATION),
        ask("update", "leases", "n1", ns="kube-node-lease", group=COORDINATION),
        ask("update", "csinodes", "n1", group=STORAGE),
        ask("create", "resourceslices", group=DRA),
        ask("update", "resourceslices", "r", group=DRA),
        ask("deletecollection", "resourceslices", group=DRA, fields=ON_NODE),
        ask("list", "services"),
        RequestInfo("get", "/x"),
    ],
)
def test_node_is_allowed_related_objects(nodes, info):
    assert nodes.authorize(NODE, info).allowed


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (ask("get", "secrets", "t", ns="ns"), "no relationship found between node 'n1' and this object"),
        (ask("list", "secrets", ns="ns"), "No Object name found"),
        (ask("list", "secrets"), "can only read namespaced object of this type"),
        (ask("update", "secrets", "s", ns="ns"), "can only read resources of this type"),
        (ask("list", "persistentvolumes"), "can only get individual resources of this type"),
        (
            ask("delete", "serviceaccounts", "a", ns="ns"),
            "can only get individual resources of this type, or create tokens for them",
        ),
        (ask("list", "pods"), "can only list/watch pods with spec.nodeName field selector"),
        (ask("list", "pods", fields=(("spec.nodeName", "n1", False),)), "can only list/watch pods with spec.nodeName field selector"),
        (ask("get", "pods", "x", ns="ns"), "no relationship found between node 'n1' and this object"),
        (ask("list", "nodes"), "node 'n1' cannot read all nodes, only its own Node object"),
        (ask("get", "nodes", "n2"), "node 'n1' cannot read 'n2', only its own Node object"),
        (ask("delete", "nodes", "n1"), ""),
        (ask("list", "leases", ns="kube-node-lease", group=COORDINATION), "can only get, create, update, patch, or delete a node lease"),
        (ask("get", "leases", "n1", ns="x", group=COORDINATION), 'can only access leases in the "kube-node-lease" system namespace'),
        (
            ask("get", "leases", "n2", ns="kube-node-lease", group=COORDINATION),
            "can only access node lease with the same name as the requesting node",
        ),
        (ask("get", "csinodes", "n2", group=STORAGE), "can only access CSINode with the same name as the requesting node"),
        (ask("get", "deployments", "d", ns="ns", group="apps"), ""),
        (RequestInfo("get", "/metrics"), ""),
    ],
)  # fmt: skip
def test_node_is_denied_with_reason(nodes, info, reason):
    decision = nodes.authorize(NODE, info)
    assert (decision.allowed, decision.reason) == (False, reason)


def test_authorize_has_no_opinion_about_other_users():
    def fail_if_called():
        raise AssertionError

    nodes = NodeAuthorizer(fail_if_called, fail_if_called)
    for user in (UserInfo("alice", ("system:nodes",)), UserInfo("system:node:n1", ())):
        assert not nodes.authorize(user, ask("list", "nodes")).reason
        assert not nodes.rules_for(user, "ns").incomplete
    assert nodes.authorize(UserInfo("system:node:", ("system:nodes",)), ask("list", "nodes")).reason == (
        'unknown node for user "system:node:"'
    )
    assert nodes.rules_for(NODE, "ns").error == "node authorizer does not support user rule resolution"


@pytest.mark.parametrize(
    ("name", "groups", "node"),
    [
        ("system:node:n", ("system:nodes",), "n"),
        ("system:node:", ("system:nodes",), ""),
        ("system:node:n", (), None),
        ("n", ("system:nodes",), None),
    ],
)
def test_node_of_requires_name_and_group(name, groups, node):
    assert node_of(UserInfo(name, groups)) == node
