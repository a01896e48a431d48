"""Field selectors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.selectors import FieldRequirement, FieldSelector, SelectorError, parse_field_selector

TERMS = st.builds(FieldRequirement, st.sampled_from(["metadata.name", "a"]), st.text(), st.booleans())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name=b", False),
        ("metadata.name!=a", False),
        ("metadata.name!=b", True),
        ("other=", True),
        ("other!=", False),
        ("metadata.name=a,status.phase=x", False),
        ("metadata.name=a,status.phase=Running", True),
        ("metadata.name=a,", True),
    ],
)
def test_field_selector_matches_field_values(text: str, expected: bool) -> None:
    fields = {"metadata.name": "a", "status.phase": "Running"}
    assert parse_field_selector(text).matches(fields) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name in (a,b)", "invalid selector: 'metadata.name in (a,b)'; can't understand 'b)'"),
        ("!metadata.name", "invalid selector: '!metadata.name'; can't understand '!metadata.name'"),
        ("metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_parse_field_selector_rejects_malformed_text(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert str(caught.value) == message


def test_parse_field_selector_unescapes_values() -> None:
    assert parse_field_selector(r"a=x\,y\=z\\").requirements == (FieldRequirement("a", "x,y=z\\"),)


@given(st.lists(TERMS, max_size=4))
def test_parse_field_selector_restores_a_selector_from_its_text(terms: list[FieldRequirement]) -> None:
    selector = FieldSelector(sorted(terms, key=str))
    assert parse_field_selector(str(selector)) == selector


@given(st.text(alphabet="a.=!,\\"))
def test_parse_field_selector_of_any_text_returns_or_raises_selector_error(text: str) -> None:
    with contextlib.suppress(SelectorError):
        parse_field_selector(text)


def test_exact_value_of_a_field() -> None:
    selector = parse_field_selector("a=x,b!=y")
    assert (selector.exact_value("a"), selector.exact_value("b"), selector.exact_value("c")) == ("x", None, None)


def test_empty_field_selector_matches_everything() -> None:
    assert parse_field_selector("").is_empty
    assert not parse_field_selector("a=").is_empty
