"""Matching of FlowSchemas."""

import pytest

from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.flowcontrol.schemas import FlowSchema
from steersman.apiserver.request import UserInfo

ACCOUNT = UserInfo("system:serviceaccount:a:b", ("system:serviceaccounts", "dev"))
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}


def schema(subject: dict, **rules) -> FlowSchema:
    return FlowSchema({"metadata": {"name": "s"}, "spec": {"rules": [{"subjects": [subject], **rules}]}})


@pytest.mark.parametrize(
    ("subject", "matches"),
    [
        ({"kind": "User", "user": {"name": "*"}}, True),
        ({"kind": "User", "user": {"name": "system:serviceaccount:a:b"}}, True),
        ({"kind": "User", "user": {"name": "alice"}}, False),
        ({"kind": "Group", "group": {"name": "*"}}, True),
        ({"kind": "Group", "group": {"name": "dev"}}, True),
        ({"kind": "Group", "group": {"name": "ops"}}, False),
        ({"kind": "ServiceAccount", "serviceAccount": {"name": "b", "namespace": "a"}}, True),
        ({"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "a"}}, True),
        ({"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "c"}}, False),
        ({"kind": "ServiceAccount", "serviceAccount": {"name": "c", "namespace": "a"}}, False),
    ],
)
def test_rule_matches_subjects(subject, matches):
    assert bool(schema(subject, resourceRules=[EVERYTHING]).rules_of(ACCOUNT)) == matches


@pytest.mark.parametrize(
    ("rule", "method", "path", "matches"),
    [
        (EVERYTHING, "GET", "/api/v1/namespaces/a/pods/b/log", True),
        (EVERYTHING, "GET", "/healthz", False),
        ({**EVERYTHING, "verbs": ["list"]}, "GET", "/api/v1/pods", True),
        ({**EVERYTHING, "verbs": ["get"]}, "GET", "/api/v1/pods", False),
        ({**EVERYTHING, "resources": ["pods"]}, "GET", "/api/v1/namespaces/a/pods/b/log", False),
        ({**EVERYTHING, "resources": ["pods/log"]}, "GET", "/api/v1/namespaces/a/pods/b/log", True),
        ({**EVERYTHING, "apiGroups": [""]}, "GET", "/apis/apps/v1/deployments", False),
        ({**EVERYTHING, "namespaces": ["a"]}, "GET", "/api/v1/namespaces/a/pods", True),
        ({**EVERYTHING, "namespaces": ["a"]}, "GET", "/api/v1/namespaces/c/pods", False),
        ({**EVERYTHING, "clusterScope": False}, "GET", "/api/v1/nodes", False),
        ({**EVERYTHING, "clusterScope": False}, "GET", "/api/v1/namespaces/c/pods", True),
    ],
)
def test_rule_matches_resources(rule, method, path, matches):
    result = schema({"kind": "User", "user": {"name": "*"}}, resourceRules=[rule]).rules[0]
    assert result.match(parse(method, path)) == matches


@pytest.mark.parametrize(
    ("verbs", "urls", "path", "matches"),
    [
        (["*"], ["*"], "/anything", True),
        (["get"], ["/healthz"], "/healthz", True),
        (["get"], ["/healthz"], "/healthz/etcd", True),
        (["get"], ["/healthz"], "/healthzz", False),
        (["get"], ["/*"], "/metrics", True),
        (["get"], ["/healthz/*"], "/healthz/etcd", True),
        (["post"], ["*"], "/healthz", False),
        (["*"], ["*"], "/api/v1/pods", False),
    ],
)
def test_rule_matches_paths(verbs, urls, path, matches):
    rules = [{"verbs": verbs, "nonResourceURLs": urls}]
    rule = schema({"kind": "User", "user": {"name": "*"}}, nonResourceRules=rules).rules[0]
    assert rule.match(parse("GET", path)) == matches


@pytest.mark.parametrize(("method", "flow"), [("ByUser", ACCOUNT.name), ("ByNamespace", "n"), (None, "")])
def test_flow_distinguisher_follows_the_schema(method, flow):
    spec = {"distinguisherMethod": {"type": method}} if method else {}
    flow_schema = FlowSchema({"metadata": {"name": "s"}, "spec": spec})
    assert flow_schema.flow_of(ACCOUNT, parse("GET", "/api/v1/namespaces/n/pods")) == flow


def test_precedence_defaults():
    assert FlowSchema({"metadata": {"name": "s"}}).precedence == 1000
