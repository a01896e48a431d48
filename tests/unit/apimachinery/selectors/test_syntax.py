"""The text form of label selectors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.selectors import LabelSelector, SelectorError, parse_label_selector, requirement

KEYS = st.sampled_from(["a", "b", "example.com/c", "in", "notin", "x.y"])
VALUES = st.sampled_from(["", "x", "y-1", "in", "notin", "7"])
REQUIREMENTS = st.one_of(
    st.builds(requirement, KEYS, st.sampled_from(["in", "notin"]), st.lists(VALUES, min_size=1)),
    st.builds(requirement, KEYS, st.sampled_from(["=", "==", "!="]), st.lists(VALUES, min_size=1, max_size=1)),
    st.builds(requirement, KEYS, st.sampled_from(["exists", "!"])),
    st.builds(requirement, KEYS, st.sampled_from(["gt", "lt"]), st.sampled_from([["0"], ["3"], ["12"]])),
)


@given(st.lists(REQUIREMENTS, max_size=5).map(LabelSelector))
def test_parse_label_selector_restores_a_selector_from_its_text(selector: LabelSelector) -> None:
    assert parse_label_selector(str(selector)) == selector


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (" a = b ", "a=b"),
        ("a\tin\n(x ,y)", "a in (x,y)"),
        ("b,a", "a,b"),
        ("a in ()", "a in ()"),
        ("a in (,x)", "a in (,x)"),
        ("a in (x,)", "a in (,x)"),
        ("a in (x,,y)", "a in (,x,y)"),
        ("a in (,)", "a in ()"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("a=in", "a=in"),
        ("a>1,b<2", "a>1,b<2"),
        ("!a", "!a"),
        ("! a", "!a"),
    ],
)
def test_parse_label_selector_of_each_form(text: str, canonical: str) -> None:
    assert str(parse_label_selector(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("env in prod", "unable to parse requirement: found 'prod' expected: '('"),
        ("env=a=b", "found '=', expected: ',' or 'end of string'"),
        ("=prod", "found '=', expected: !, identifier, or 'end of string'"),
        ("==prod", "found '==', expected: !, identifier, or 'end of string'"),
        ("env in (prod", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("env like prod", "unable to parse requirement: found 'like', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("env=prod,", "found '', expected: identifier after ','"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (x,=", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "-a=x",
            (
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' "
                "or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
                "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ),
        ),
        (
            "env=a123456789012345678901234567890123456789012345678901234567890123",
            (
                "unable to parse requirement: values[0][env]: Invalid value: "
                '"a123456789012345678901234567890123456789012345678901234567890123": must be no more than 63 bytes'
            ),
        ),
    ],
)
def test_parse_label_selector_rejects_malformed_text(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == message


@given(st.text(alphabet="ab=!<>(), in\t"))
def test_parse_label_selector_of_any_text_returns_or_raises_selector_error(text: str) -> None:
    with contextlib.suppress(SelectorError):
        parse_label_selector(text)
