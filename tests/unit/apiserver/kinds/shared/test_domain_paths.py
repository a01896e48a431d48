"""Names that lie in somebody's domain."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import told

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.domain_paths import check_domain_prefixed_path, check_qualified_domain

P = Path("spec", "controller")
NO_PATH = 'must be a domain-prefixed path (such as "acme.io/foo")'


@pytest.mark.parametrize("value", ["example.com/a", "example.com/a/b", "a/b", "example.com/a_b~c:d%20"])
def test_a_domain_and_a_path_will_do(value: str):
    assert told(check_domain_prefixed_path(value, P)) == []


@pytest.mark.parametrize("value", ["example.com", "example.com/", "/a"])
def test_both_parts_are_needed(value: str):
    assert told(check_domain_prefixed_path(value, P)) == [f'spec.controller: Invalid value: "{value}": {NO_PATH}']


def test_the_domain_is_one():
    (fault,) = told(check_domain_prefixed_path("Example.com/a", P))
    assert fault.startswith(
        'spec.controller: Invalid value: "Example.com": a lowercase RFC 1123 subdomain must consist'
    )


def test_the_path_is_one_of_a_url():
    (fault,) = told(check_domain_prefixed_path("example.com/a b", P))
    assert fault.startswith('spec.controller: Invalid value: "a b": Invalid path (regex used for validation is ')


@pytest.mark.parametrize("check", [check_domain_prefixed_path, check_qualified_domain])
def test_nothing_is_required_to_be_something(check):
    assert told(check("", P)) == ["spec.controller: Required value"]


@pytest.mark.parametrize(
    ("value", "count"), [("a.example.com", 0), ("b.a.example.com", 0), ("example.com", 1), ("a", 1)]
)
def test_a_qualified_domain_has_three_parts_or_more(value: str, count: int):
    detail = "should be a domain with at least three segments separated by dots"
    assert told(check_qualified_domain(value, P)) == [f'spec.controller: Invalid value: "{value}": {detail}'] * count


def test_the_faults_of_a_qualified_domain_come_as_one():
    assert len(told(check_qualified_domain("A_" * 200, P))) == 1
