"""Matching of label selectors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.field import Path
from steersman.apimachinery.selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    Operator,
    SelectorError,
    from_label_selector,
    parse_label_selector,
    requirement,
    validate_label_selector,
)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", None, True),
        ("a=b", {"a": "b"}, True),
        ("a=b", {"a": "c"}, False),
        ("a==b", {"a": "b"}, True),
        ("a=b", None, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=b", {"a": "b"}, False),
        ("a!=b", {}, True),
        ("a!=", {}, True),
        ("a!=", {"a": ""}, False),
        ("a in (b,c)", {"a": "c"}, True),
        ("a in (b,c)", {}, False),
        ("a in ()", {"a": ""}, True),
        ("a in ()", {}, False),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a notin (b,c)", {}, True),
        ("a", {"a": ""}, True),
        ("a", {"b": ""}, False),
        ("!a", {"b": ""}, True),
        ("!a", {"a": ""}, False),
        ("a>2", {"a": "10"}, True),
        ("a>2", {"a": "2"}, False),
        ("a>2", {"a": "x"}, False),
        ("a>2", {}, False),
        ("a<2", {"a": "-1"}, True),
        ("a=b,c", {"a": "b", "c": ""}, True),
        ("a=b,c", {"a": "b"}, False),
    ],
)
def test_label_selector_matches_labels(text: str, labels: dict[str, str] | None, expected: bool) -> None:
    assert parse_label_selector(text).matches(labels) is expected


def test_requirement_matches_labels() -> None:
    assert requirement("a", "in", ["b"]).matches({"a": "b"})
    assert not requirement("a", Operator.IN, ["b"]).matches(None)


def test_label_selector_sorts_requirements_and_values() -> None:
    selector = LabelSelector([requirement("b", "in", ["z", "y", "z"]), requirement("a", "exists")])
    assert str(selector) == "a,b in (y,z)"


def test_empty_label_selector_matches_everything() -> None:
    assert EVERYTHING.matches({})
    assert EVERYTHING.is_empty
    assert not NOTHING.matches({})
    assert not NOTHING.is_empty
    assert EVERYTHING != NOTHING


def test_label_selectors_with_equal_requirements_are_equal() -> None:
    assert parse_label_selector("a=b,c") == parse_label_selector(" c , a = b")
    assert len({parse_label_selector("a=b"), parse_label_selector(" a=b")}) == 1


@pytest.mark.parametrize(
    ("text", "value"), [("a=b", "b"), ("a in (b)", "b"), ("a in (b,c)", None), ("a!=b", None), ("b=c", None)]
)
def test_exact_value_of_a_label(text: str, value: str | None) -> None:
    assert parse_label_selector(text).exact_value("a") == value


@pytest.mark.parametrize(
    ("operator", "values", "message"),
    [
        ("in", [], "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        ("=", ["a", "b"], 'values: Invalid value: ["a","b"]: exact-match compatibility requires one single value'),
        ("exists", ["a"], 'values: Invalid value: ["a"]: values set must be empty for exists and does not exist'),
        ("gt", [], "values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required"),
        ("gt", ["x"], "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
        (
            "like",
            [],
            'operator: Unsupported value: "like": supported values: "in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"',
        ),
    ],
)
def test_requirement_rejects_invalid_arguments(operator: str, values: list[str], message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        requirement("a", operator, values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "x", "a": "y"}}, "a=y,b=x"),
        (
            {
                "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "b", "operator": "NotIn", "values": ["z"]},
                    {"key": "c", "operator": "Exists"},
                    {"key": "d", "operator": "DoesNotExist", "values": None},
                ],
                "matchLabels": {"a": "x"},
            },
            "a=x,a in (x,y),b notin (z),c,!d",
        ),
    ],
)
def test_from_label_selector_matches_labels(tree: dict[str, Any], text: str) -> None:
    assert str(from_label_selector(tree)) == text


def test_from_label_selector_of_none_matches_nothing() -> None:
    assert from_label_selector(None) is NOTHING


def test_from_label_selector_rejects_an_unknown_operator() -> None:
    with pytest.raises(SelectorError, match='"Like" is not a valid label selector operator'):
        from_label_selector({"matchExpressions": [{"key": "a", "operator": "Like"}]})


def test_validate_label_selector_reports_errors() -> None:
    tree = {
        "matchLabels": {"/a": "b"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "b", "operator": "Exists", "values": ["x"]},
            {"key": "c/", "operator": "Like", "values": ["-"]},
        ],
    }
    texts = [str(error).partition(" must consist")[0] for error in validate_label_selector(tree, Path("s"))]
    assert texts == [
        's.matchLabels: Invalid value: "/a": prefix part must be non-empty',
        "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        's.matchExpressions[2].operator: Invalid value: "Like": not a valid selector operator',
        's.matchExpressions[2].key: Invalid value: "c/": name part must be non-empty',
        's.matchExpressions[2].key: Invalid value: "c/": name part',
        (
            's.matchExpressions[2].values[0]: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
            "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ),
    ]


def test_validate_label_selector_allows_invalid_values_when_requested() -> None:
    tree = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}
    assert validate_label_selector(tree, Path("s"), allow_invalid_values=True) == []
    assert validate_label_selector(None, Path("s")) == []


VALUES = st.sampled_from(["", "a", "b", "1", "5", "9"])
REQUIREMENTS = st.one_of(
    st.builds(
        requirement, st.sampled_from("xyz"), st.sampled_from(["=", "!="]), st.lists(VALUES, min_size=1, max_size=1)
    ),
    st.builds(requirement, st.sampled_from("xyz"), st.sampled_from(["in", "notin"]), st.lists(VALUES, min_size=1)),
    st.builds(
        requirement, st.sampled_from("xyz"), st.sampled_from(["gt", "lt"]), st.sampled_from([["1"], ["5"], ["9"]])
    ),
    st.builds(requirement, st.sampled_from("xyz"), st.sampled_from(["exists", "!"])),
)


@given(st.lists(REQUIREMENTS, max_size=14), st.none() | st.dictionaries(st.sampled_from("wxyz"), VALUES))
def test_label_selector_matches_if_each_requirement_does(requirements: Any, labels: Any) -> None:
    assert LabelSelector(requirements).matches(labels) == all(part.matches(labels) for part in requirements)


def test_label_selector_compares_as_often_as_there_are_labels() -> None:
    compared = 0

    class CountingLabels(dict[str, str]):
        def get(self, *arguments: Any) -> Any:
            nonlocal compared
            compared += 1
            return super().get(*arguments)

        def __contains__(self, key: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__contains__(key)

    selector = parse_label_selector(
        ",".join([*(f"!k{n}" for n in range(1000)), *(f"a!=v{n}" for n in range(1000)), "a"])
    )
    assert selector.matches(CountingLabels(a="b", c="d"))
    assert compared <= 2
