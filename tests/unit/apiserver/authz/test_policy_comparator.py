"""Held permissions compared with permissions to be granted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.workmeter import InterruptedWorkError, Interruption, metered
from steersman.apiserver.authz import policy_comparator
from steersman.apiserver.authz.policy import PolicyRule
from steersman.apiserver.authz.policy_comparator import compact_rules, uncovered


def rule(verbs, resources, groups=("",), names=()):
    return PolicyRule(tuple(verbs.split()), groups, tuple(resources.split()), tuple(names))


HELD = [
    rule("get", "configmaps"),
    rule("list", "configmaps secrets"),
    rule("get", "*", ("apps",)),
    rule("*", "jobs", ("batch",)),
    rule("update", "*/scale", ("apps",)),
    rule("delete", "pods", names=("a", "b")),
    PolicyRule(("get",), non_resource_urls=("/livez/*",)),
]


@pytest.mark.parametrize(
    "requested",
    [
        rule("get list", "configmaps"),
        rule("get", "configmaps", names=("x",)),
        rule("get", "deployments/scale", ("apps",)),
        rule("update", "deployments/scale", ("apps",)),
        rule("fly *", "jobs", ("batch",)),
        rule("delete", "pods", names=("a",)),
        PolicyRule(("get",), non_resource_urls=("/livez/ping", "/livez/*")),
        rule("get", ""),
    ],
)
def test_uncovered_is_empty_when_several_rules_cover(requested):
    assert uncovered(HELD, [requested]) == []


@pytest.mark.parametrize(
    "requested",
    [
        rule("get", "jobs/status", ("batch",)),
        rule("get", "jobs", ("*",)),
        rule("*", "configmaps"),
        rule("get", "*"),
        rule("delete", "pods"),
        rule("delete", "pods", names=("c",)),
        rule("update", "deployments", ("apps",)),
        PolicyRule(("get",), non_resource_urls=("/livez",)),
        PolicyRule(("post",), non_resource_urls=("/livez/x",)),
    ],
)
def test_uncovered_requires_wildcard_for_wildcard(requested):
    assert uncovered(HELD, [requested]) == [requested]


def test_uncovered_returns_missing_permissions_only():
    assert uncovered(HELD, [rule("get list", "configmaps secrets")]) == [rule("get", "secrets")]


def test_compact_rules_merges_verbs_of_one_resource():
    single = uncovered(
        [], [rule("get list", "pods secrets", names=("a",)), PolicyRule(("get",), non_resource_urls=("/x",))]
    )
    assert [str(compact_rule) for compact_rule in compact_rules(single)] == [
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "list"]}',
    ]


WORDS = st.lists(st.sampled_from(["a", "b", "a/s", "*"]), min_size=1, max_size=3, unique=True).map(" ".join)
RULES = st.lists(st.builds(rule, st.sampled_from(["get", "get list", "*"]), WORDS), max_size=4)


@given(RULES, RULES)
def test_uncovered_of_own_rules_is_empty_and_missing_rules_cover_the_rest(held, requested):
    assert uncovered(held, held) == []
    assert uncovered([*held, *uncovered(held, requested)], requested) == []


def covers(held, single):
    """Report whether one held rule covers a single permission."""
    [verb] = single.verbs
    [path] = single.resources
    resource, _, subresource = path.partition("/")
    is_named = not held.resource_names or (single.resource_names and single.resource_names[0] in held.resource_names)
    return held.allows_verb(verb) and held.allows_resource(single.api_groups[0], resource, subresource) and is_named


GRANTS = st.lists(
    st.builds(
        rule,
        st.sampled_from(["get", "get list", "list watch", "*"]),
        WORDS,
        st.sampled_from([("",), ("apps",), ("", "apps"), ("*",)]),
        st.sampled_from([(), ("x",), ("x", "y")]),
    ),
    max_size=4,
)


@given(GRANTS, GRANTS)
def test_uncovered_equals_comparison_of_single_permissions(held, requested):
    singles = [
        PolicyRule((verb,), (group,), (resource,), names)
        for item in requested
        for group in item.api_groups
        for resource in item.resources
        for verb in item.verbs
        for names in [(name,) for name in item.resource_names] or [()]
    ]
    missing = {single for single in singles if not any(covers(item, single) for item in held)}
    assert set(uncovered(held, requested)) == missing


@pytest.mark.interpreted
def test_uncovered_is_bounded_for_rule_with_huge_product():
    words = " ".join(f"w{number}" for number in range(1000))
    huge = rule(words, words, tuple(words.split()), tuple(words.split()))
    assert uncovered([rule("*", "*", ("*",))], [huge]) == []
    assert len(uncovered([], [huge])) == 1000


def test_uncovered_reports_rule_with_too_many_combinations():
    words = [f"w{number}" for number in range(50)]
    held = [PolicyRule((word,), (word,), (word,), (word,)) for word in words]
    requested = PolicyRule(tuple(words), tuple(words), tuple(words), tuple(words))
    assert len(uncovered(held, [requested])) == 1000


URLS = st.lists(st.sampled_from(["/a", "/a/b", "/a/*", "/a*", "*", "/", "/b/*"]), min_size=1, max_size=3, unique=True)
PATHS = st.lists(
    st.builds(
        lambda verbs, urls: PolicyRule(tuple(verbs.split()), non_resource_urls=tuple(urls)),
        st.sampled_from(["get", "get post", "*"]),
        URLS,
    ),
    max_size=4,
)


@given(PATHS, PATHS)
def test_uncovered_equals_comparison_of_single_paths(held, requested):
    singles = {(verb, url) for item in requested for url in item.non_resource_urls for verb in item.verbs}
    missing = {
        (verb, url)
        for verb, url in singles
        if not any(item.allows_verb(verb) and item.allows_path(url) for item in held)
    }
    assert {(item.verbs[0], item.non_resource_urls[0]) for item in uncovered(held, requested)} == missing


def test_uncovered_looks_up_each_value_once(monkeypatch):
    lookups = 0
    look_up = policy_comparator._Held._of

    def counted(*args):
        nonlocal lookups
        lookups += 1
        return look_up(*args)

    monkeypatch.setattr(policy_comparator._Held, "_of", counted)
    held = [rule("get", f"r{number}") for number in range(2_000)]
    assert uncovered(held, held) == []
    assert lookups < 10 * len(held)


def test_uncovered_can_be_interrupted():
    interruption = Interruption()
    interruption.set()
    with pytest.raises(InterruptedWorkError), metered(interruption):
        uncovered([], HELD)
