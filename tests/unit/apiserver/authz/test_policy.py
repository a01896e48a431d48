"""When a rule allows something."""

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
def test_a_star_stands_for_all_resources_or_for_all_with_a_subresource(resources, resource, subresource, allowed):
    assert rule(resources).allows_resource("", resource, subresource) is allowed


def test_groups_count():
    assert not rule(("pods",)).allows_resource("apps", "pods", "")
    assert rule(("pods",), groups=("*",)).allows_resource("apps", "pods", "")
    assert not rule((), groups=("*",)).allows_resource("", "pods", "")


def test_verbs_are_listed_or_all():
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
def test_paths_are_whole_or_end_in_a_star(url, path, allowed):
    assert PolicyRule(verbs=("get",), non_resource_urls=(url,)).allows_path(path) is allowed


def test_a_rule_is_told_in_gos_names_without_what_is_empty():
    text = str(rule(("secrets", "pods"), names=("a",), verbs=("get",)))
    assert text == '{APIGroups:[""], Resources:["secrets" "pods"], ResourceNames:["a"], Verbs:["get"]}'


def test_objects_are_read_as_far_as_they_matter():
    role = decode_role(b'{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]}')
    assert role.rules == (PolicyRule(verbs=("get",), non_resource_urls=("/x",)),)
    assert decode_role(b'{"metadata":{},"rules":null}').rules is None
    binding = decode_binding(
        b'{"roleRef":{"kind":"Role","name":"r","apiGroup":"x"},"subjects":[{"kind":"User","name":"u"}]}'
    )
    assert (binding.role_ref.name, binding.subjects[0].name) == ("r", "u")
