"""Policies of the mode ABAC."""

import json

import pytest

from steersman.apiserver.authz.abac import ABACPolicy, PolicyFileError, PolicyList, read_policies
from steersman.apiserver.authz.interface import ALLOW, Decision, Rules, Verdict
from steersman.apiserver.authz.policy import PolicyRule
from steersman.apiserver.request import RequestInfo, UserInfo

ALICE = UserInfo("alice", ("devs", "system:authenticated"))
ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))


def pods(verb="get", namespace="ns", group="", resource="pods"):
    return RequestInfo(verb, "/p", True, group, "v1", namespace, resource)


def path(text, verb="get"):
    return RequestInfo(verb, text)


def v1beta1(**spec):
    return {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": spec}


def policies(*lines):
    return read_policies("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode(), "f")


def is_allowed(line, info, user=ALICE):
    return PolicyList(policies(line)[0]).authorize(user, info).allowed


@pytest.mark.parametrize(
    ("spec", "info", "allowed"),
    [
        ({"user": "alice", "namespace": "*", "resource": "*", "apiGroup": "*"}, pods("delete"), True),
        ({"user": "alice", "namespace": "*", "resource": "*", "apiGroup": "*"}, path("/metrics"), False),
        ({"user": "alice", "namespace": "ns", "resource": "pods"}, pods(), True),
        ({"user": "alice", "namespace": "ns", "resource": "pods"}, pods(group="apps"), False),
        ({"user": "alice", "namespace": "ns", "resource": "pods"}, pods(namespace="other"), False),
        ({"user": "alice", "namespace": "ns", "resource": "pods"}, pods(resource="secrets"), False),
        ({"user": "alice", "resource": "pods"}, pods(), False),  # no namespace: cluster-wide requests only
        ({"user": "alice", "resource": "pods"}, pods(namespace=""), True),
        ({"user": "alice", "namespace": "ns", "resource": "pods", "readonly": True}, pods("watch"), True),
        ({"user": "alice", "namespace": "ns", "resource": "pods", "readonly": True}, pods("update"), False),
        ({"user": "bob", "namespace": "*", "resource": "*", "apiGroup": "*"}, pods(), False),
        ({"group": "devs", "namespace": "*", "resource": "*", "apiGroup": "*"}, pods(), True),
        ({"user": "alice", "group": "ops", "namespace": "*", "resource": "*", "apiGroup": "*"}, pods(), False),
        ({"namespace": "*", "resource": "*", "apiGroup": "*"}, pods(), False),  # about no user
        ({"user": "*", "nonResourcePath": "*"}, path("/metrics"), True),
        ({"user": "alice", "nonResourcePath": "/metrics"}, path("/metrics"), True),
        ({"user": "alice", "nonResourcePath": "/metrics"}, path("/metrics/slis"), False),
        ({"user": "alice", "nonResourcePath": "/metrics/*"}, path("/metrics/slis"), True),
        ({"user": "alice", "nonResourcePath": "/metrics/*"}, path("/metrics"), False),
        ({"user": "alice", "nonResourcePath": "/metrics*", "readonly": True}, path("/metrics", "post"), False),
        ({"user": "alice", "nonResourcePath": "*"}, pods(), False),
    ],
)
def test_policy_matches_the_attributes_of_a_request(spec, info, allowed):
    assert is_allowed(v1beta1(**spec), info) is allowed


@pytest.mark.parametrize(
    ("line", "policy"),
    [
        ({}, ABACPolicy("", "system:authenticated", False, "*", "*", "*", "*")),
        ({"user": "alice"}, ABACPolicy("alice", "", False, "*", "*", "*", "*")),
        ({"user": "*", "readonly": True}, ABACPolicy("", "system:authenticated", True, "*", "*", "*", "*")),
        ({"group": "g", "resource": "pods"}, ABACPolicy("", "g", False, "*", "pods", "*", "")),
        ({"kind": "Policy", "namespace": "ns"}, ABACPolicy("", "system:authenticated", False, "*", "*", "ns", "")),
        (
            {"apiVersion": "abac.authorization.kubernetes.io/v0", "user": "a"},
            ABACPolicy("a", "", False, "*", "*", "*", "*"),
        ),
    ],
)
def test_unversioned_policy_is_converted(line, policy):
    assert policies(line)[0] == [policy]


@pytest.mark.parametrize("subject", [{"user": "*"}, {"group": "*"}, {"user": "*", "group": "devs"}])
def test_star_stands_for_authenticated_users(subject):
    line = v1beta1(**subject, namespace="*", resource="*", apiGroup="*")
    assert is_allowed(line, pods())
    assert not is_allowed(line, pods(), ANONYMOUS)


def test_comments_and_empty_lines_are_skipped():
    read, unversioned = policies("# comment", "", "  ", {"user": "a"}, v1beta1(user="b"), "\t# more", "")
    assert [policy.user for policy in read] == ["a", "b"]
    assert unversioned == 1


def test_first_match_allows_and_no_match_is_no_opinion():
    authorizer = PolicyList(policies({"user": "bob"}, {"user": "alice", "readonly": True})[0])
    assert authorizer.authorize(ALICE, pods()) is ALLOW
    assert authorizer.authorize(ALICE, pods("create")) == Decision(Verdict.NO_OPINION, "No policy matched.")
    assert not PolicyList([]).authorize(ALICE, pods()).allowed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ""),
        ("[]", "a policy must be a JSON object"),
        ('{"user":1}', "user must be a string"),
        ('{"readonly":"yes"}', "readonly must be a boolean"),
        ('{"kind":"Other"}', 'no kind "Other" is registered for version ""'),
        ('{"kind":"Policy","apiVersion":"v1"}', 'no kind "Policy" is registered for version "v1"'),
        ('{"apiVersion":"abac.authorization.kubernetes.io/v1beta1"}', "Object 'Kind' is missing"),
        (
            '{"kind":"Policy","apiVersion":"abac.authorization.kubernetes.io/v1beta1","spec":[]}',
            "spec must be an object",
        ),
        (json.dumps(v1beta1(user=["a"])), "spec.user must be a string"),
    ],
)
def test_malformed_line_is_an_error_with_its_number(line, message):
    with pytest.raises(PolicyFileError) as invalid:
        policies("# first", line)
    assert str(invalid.value).startswith(f"error reading policy file f, line 2: {line}: {message}")


def test_rules_are_those_of_the_namespace():
    lines = [
        v1beta1(user="alice", namespace="ns", resource="pods", readonly=True),
        v1beta1(user="alice", namespace="other", resource="secrets"),
        v1beta1(user="bob", namespace="*", resource="*"),
        v1beta1(group="devs", namespace="*", nonResourcePath="/metrics"),
    ]
    assert PolicyList(policies(*lines)[0]).rules_for(ALICE, "ns") == Rules(
        (
            PolicyRule(verbs=("get", "list", "watch"), api_groups=("",), resources=("pods",)),
            PolicyRule(verbs=("*",), non_resource_urls=("/metrics",)),
        )
    )
