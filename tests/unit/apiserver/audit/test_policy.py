"""Audit policy: matching, outcome and validation."""

import pytest

from steersman.apiserver.audit.policy import PolicyError, read_policy
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.request import AuditLevel, UserInfo

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
ALICE = UserInfo("alice", ("dev", "system:authenticated"))


def level(rules: str, method: str, path: str, user: UserInfo = ALICE) -> AuditLevel:
    return read_policy(f"{HEAD}rules: [{rules}, {{level: None}}]".encode()).evaluate(user, parse(method, path)).level


@pytest.mark.parametrize(
    ("rule", "method", "path", "matches"),
    [
        ("users: [alice]", "GET", "/healthz", True),
        ("users: [bob]", "GET", "/healthz", False),
        ("userGroups: [ops, dev]", "GET", "/healthz", True),
        ("userGroups: [ops]", "GET", "/healthz", False),
        ("verbs: [list]", "GET", "/api/v1/pods", True),
        ("verbs: [get]", "GET", "/api/v1/pods", False),
        ("namespaces: [a]", "GET", "/api/v1/namespaces/a/pods", True),
        ("namespaces: [a]", "GET", "/api/v1/pods", False),
        ("namespaces: ['']", "GET", "/api/v1/nodes", True),
        ("namespaces: ['']", "GET", "/healthz", False),
        ("resources: [{group: ''}]", "GET", "/api/v1/pods", True),
        ("resources: [{group: apps}]", "GET", "/api/v1/pods", False),
        ("resources: [{group: '*'}]", "GET", "/apis/apps/v1/deployments", True),
        ("resources: [{group: '*'}]", "GET", "/api/v1/pods", True),
        ("resources: [{group: '*'}]", "GET", "/healthz", False),
        ("resources: [{group: '*', resources: ['*/status']}]", "PUT", "/api/v1/nodes/a/status", True),
        ("resources: [{group: '*', resources: ['*/status']}]", "PUT", "/api/v1/nodes/a", False),
        ("resources: [{resources: [pods]}]", "GET", "/api/v1/namespaces/a/pods/b", True),
        ("resources: [{resources: [pods]}]", "GET", "/api/v1/namespaces/a/pods/b/log", False),
        ("resources: [{resources: [pods/log]}]", "GET", "/api/v1/namespaces/a/pods/b/log", True),
        ("resources: [{resources: [pods/*]}]", "GET", "/api/v1/namespaces/a/pods/b/log", True),
        ("resources: [{resources: ['*/log']}]", "GET", "/api/v1/namespaces/a/pods/b/log", True),
        ("resources: [{resources: ['*/log']}]", "GET", "/api/v1/namespaces/a/pods/b", False),
        ("resources: [{resources: ['*']}]", "GET", "/api/v1/namespaces/a/pods/b/log", True),
        ("resources: [{resources: [pods], resourceNames: [b]}]", "GET", "/api/v1/namespaces/a/pods/b", True),
        ("resources: [{resources: [pods], resourceNames: [c]}]", "GET", "/api/v1/namespaces/a/pods/b", False),
        ("resources: [{resources: [pods]}], namespaces: [c]", "GET", "/api/v1/namespaces/a/pods/b", False),
        ("nonResourceURLs: [/healthz*]", "GET", "/healthz/etcd", True),
        ("nonResourceURLs: [/healthz]", "GET", "/healthz/etcd", False),
        ("nonResourceURLs: ['*']", "GET", "/version", True),
        ("nonResourceURLs: ['*']", "GET", "/api/v1/pods", False),
        ("users: null", "GET", "/version", True),
    ],
)
def test_rule_matches_requests(rule, method, path, matches):
    assert (level(f"{{level: Request, {rule}}}", method, path) is AuditLevel.REQUEST) == matches


def test_first_matching_rule_decides():
    rules = "{level: Metadata, verbs: [get]}, {level: RequestResponse}"
    assert level(rules, "GET", "/version") is AuditLevel.METADATA
    assert level(rules, "POST", "/version") is AuditLevel.REQUEST_RESPONSE


def test_omitted_stages_of_the_policy_apply_to_every_rule():
    text = f"{HEAD}omitStages: [RequestReceived]\nrules: [{{level: Metadata, omitStages: [Panic]}}]"
    outcome = read_policy(text.encode()).evaluate(ALICE, parse("GET", "/version"))
    assert outcome.omit_stages == {"RequestReceived", "Panic"}


@pytest.mark.parametrize(
    ("everywhere", "rule", "omitted"),
    [("true", "", True), ("true", ", omitManagedFields: false", False), ("false", ", omitManagedFields: true", True)],
)
def test_rule_overrides_omit_managed_fields(everywhere, rule, omitted):
    text = f"{HEAD}omitManagedFields: {everywhere}\nrules: [{{level: Metadata{rule}}}]"
    assert read_policy(text.encode()).evaluate(ALICE, parse("GET", "/version")).omit_managed_fields is omitted


def test_unmatched_request_is_not_recorded():
    policy = read_policy(f"{HEAD}rules: [{{level: Metadata, users: [bob]}}]".encode())
    assert policy.evaluate(ALICE, parse("GET", "/version")).level is AuditLevel.NONE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected `object`, got `null`"),
        ("a: [", "yaml"),
        ("kind: Policy\napiVersion: v1", "is no Policy of audit.k8s.io/v1"),
        (HEAD, "without rules"),
        (f"{HEAD}rules: []\nextra: 1", "unknown field `extra`"),
        (f"{HEAD}rules: [{{level: Metadata, user: [a]}}]", "unknown field `user` - at `$.rules[0]`"),
        (f"{HEAD}rules: [{{level: Everything}}]", "rules[0].level: unsupported value"),
        (f"{HEAD}rules: [{{level: None, omitStages: [Never]}}]", "rules[0].omitStages"),
        (f"{HEAD}rules: [{{level: None, users: alice}}]", "Expected `array | null`"),
        (f"{HEAD}rules: [{{level: None}}]\nrules: [{{level: None}}]", "already set"),
        (f"{HEAD}rules: [{{level: None, nonResourceURLs: [x]}}]", "must start with"),
        (f"{HEAD}rules: [{{level: None, nonResourceURLs: ['/a*b']}}]", "wildcard"),
        (f"{HEAD}rules: [{{level: None, nonResourceURLs: [/a], namespaces: [b]}}]", "both regular"),
        (f"{HEAD}rules: [{{level: None, resources: [{{group: apps/v1}}]}}]", "without its version"),
        (
            f"{HEAD}rules: [{{level: None, resources: [{{group: '*.k8s.io'}}]}}]",
            "a lowercase RFC 1123 subdomain must consist",
        ),
        (f"{HEAD}rules: [{{level: None, resources: [{{resourceNames: [a]}}]}}]", "requires at least one resource"),
    ],
)
def test_invalid_policy_is_rejected_with_the_reason(text, message):
    with pytest.raises(PolicyError) as refused:
        read_policy(text.encode())
    assert message in str(refused.value)
