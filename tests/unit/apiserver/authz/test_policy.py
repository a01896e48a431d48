"""Matching of policy rules."""

import pytest

from steersman.apiserver.authz.policy import PolicyRule, decode_binding, decode_role


def rule(resources, *, groups=("",), verbs=("get",), names=()):
    return PolicyRule(verbs=verbs, api_groups=groups, resources=resources, resource_names=names)


@pytest.mark.parametrize(
    ("resources", "resource", "subresource", "allowed"),
    [
        (("pods",), "pods", "", True),
        (("pods",), "pods", "log", False),
        (("pods/log",), "pods", "log", True),
        (("pods/log",), "pods", "", False),
        (("*",), "pods", "", True),
        (("*",), "pods", "log", True),
        (("*/scale",), "deployments", "scale", True),
        (("*/scale",), "deployments", "", False),
        (("deployments/*",), "deployments", "scale", False),
        (("deployments/*",), "deployments", "", False),
    ],
)
def test_resources_match_wildcards(resources, resource, subresource, allowed):
    assert rule(resources).allows_resource("", resource, subresource) is allowed


def test_groups_match():
    assert not rule(("pods",)).allows_resource("apps", "pods", "")
    assert rule(("pods",), groups=("*",)).allows_resource("apps", "pods", "")
    assert not rule((), groups=("*",)).allows_resource("", "pods", "")


def test_verbs_match():
    assert rule(("pods",), verbs=("get", "list")).allows_verb("list")
    assert not rule(("pods",), verbs=("get", "list")).allows_verb("watch")
    assert rule(("pods",), verbs=("*",)).allows_verb("fly")


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [
        ("/livez/*", "/livez/ping", True),
        ("/livez/*", "/livez/a/b", True),
        ("/livez/*", "/livez", False),
        ("/probe", "/probe", True),
        ("/probe", "/probe/x", False),
        ("*", "/anything", True),
        ("/x/*/y", "/x/a/y", False),
    ],
)
def test_paths_match_exactly_or_by_prefix(url, path, allowed):
    assert PolicyRule(verbs=("get",), non_resource_urls=(url,)).allows_path(path) is allowed


def test_rule_formats_non_empty_fields_with_go_names():
    text = str(rule(("secrets", "pods"), names=("a",), verbs=("get",)))
    assert text == '{APIGroups:[""], Resources:["secrets" "pods"], ResourceNames:["a"], Verbs:["get"]}'


def test_decode_reads_needed_fields():
    role = decode_role(b'{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]}')
    assert role.rules == (PolicyRule(verbs=("get",), non_resource_urls=("/x",)),)
    assert decode_role(b'{"metadata":{},"rules":null}').rules is None
    binding = decode_binding(
        b'{"roleRef":{"kind":"Role","name":"r","apiGroup":"x"},"subjects":[{"kind":"User","name":"u"}]}'
    )
    assert (binding.role_ref.name, binding.subjects[0].name) == ("r", "u")
