"""Validation of domain-qualified names."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.domain_paths import check_domain_prefixed_path, check_qualified_domain
from steersman.apimachinery.field import Path

P = Path("spec", "controller")
NO_PATH = 'must be a domain-prefixed path (such as "acme.io/foo")'


@pytest.mark.parametrize("value", ["example.com/a", "example.com/a/b", "a/b", "example.com/a_b~c:d%20"])
def test_check_domain_prefixed_path_accepts_domain_and_path(value: str):
    assert error_texts(check_domain_prefixed_path(value, P)) == []


@pytest.mark.parametrize("value", ["example.com", "example.com/", "/a"])
def test_check_domain_prefixed_path_requires_both_parts(value: str):
    assert error_texts(check_domain_prefixed_path(value, P)) == [
        f'spec.controller: Invalid value: "{value}": {NO_PATH}'
    ]


def test_check_domain_prefixed_path_checks_domain():
    (fault,) = error_texts(check_domain_prefixed_path("Example.com/a", P))
    assert fault.startswith(
        'spec.controller: Invalid value: "Example.com": a lowercase RFC 1123 subdomain must consist'
    )


def test_check_domain_prefixed_path_checks_path():
    (fault,) = error_texts(check_domain_prefixed_path("example.com/a b", P))
    assert fault.startswith('spec.controller: Invalid value: "a b": Invalid path (regex used for validation is ')


@pytest.mark.parametrize("check", [check_domain_prefixed_path, check_qualified_domain])
def test_checks_report_empty_value_as_required(check):
    assert error_texts(check("", P)) == ["spec.controller: Required value"]


@pytest.mark.parametrize(
    ("value", "count"), [("a.example.com", 0), ("b.a.example.com", 0), ("example.com", 1), ("a", 1)]
)
def test_check_qualified_domain_requires_three_segments(value: str, count: int):
    detail = "should be a domain with at least three segments separated by dots"
    assert (
        error_texts(check_qualified_domain(value, P))
        == [f'spec.controller: Invalid value: "{value}": {detail}'] * count
    )


def test_check_qualified_domain_joins_errors():
    assert len(error_texts(check_qualified_domain("A_" * 200, P))) == 1
