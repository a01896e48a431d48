"""Values in messages."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.apimachinery import gotext


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("a b", '"a b"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("é世", '"é世"'),
        ("\u00a0\u200b", '"\\u00a0\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("\udcff", '"\\xff"'),
    ],
)
def test_quote_equals_go(text: str, quoted: str) -> None:
    assert gotext.quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (True, "true"),
        (3, "3"),
        (1.0, "1"),
        (0.5, "0.5"),
        (1e21, "1e+21"),
        (1e-5, "1e-05"),
        ({"b": 1, "a": ["x", None]}, "map[a:[x <nil>] b:1]"),
        ([], "[]"),
    ],
)
def test_to_value_text_equals_go(value: Any, text: str) -> None:
    assert gotext.to_value_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "interface {}(nil)"),
        ("a\n", '"a\\n"'),
        (True, "true"),
        (1, "1"),
        (1.5, "1.5"),
        ({"b": 1, "a": ["x"]}, 'map[string]interface {}{"a":[]interface {}{"x"}, "b":1}'),
    ],
)
def test_to_go_syntax_equals_go(value: Any, text: str) -> None:
    assert gotext.to_go_syntax(value) == text


def test_to_json_is_compact_and_escapes_markup() -> None:
    assert gotext.to_json({"b": "<&>", "a": [1, None, "é"]}) == '{"b":"\\u003c\\u0026\\u003e","a":[1,null,"é"]}'


@pytest.mark.parametrize(
    ("value", "text"), [(float("nan"), "NaN"), (float("inf"), "+Inf"), (float("-inf"), "-Inf"), (-0.0, "-0")]
)
def test_float_text_of_special_floats(value: float, text: str) -> None:
    assert gotext.float_text(value) == text


def test_label_selector_text_equals_go() -> None:
    expression = {"key": "t", "operator": "In", "values": ["a", "b"]}
    assert gotext.label_selector_text({"matchLabels": {"z": "1", "app": "web"}, "matchExpressions": [expression]}) == (
        "&LabelSelector{MatchLabels:map[string]string{app: web,z: 1,},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:t,Operator:In,Values:[a b],},},}"
    )
    assert gotext.label_selector_text({}) == (
        "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"
    )
    assert gotext.label_selector_text(None) == "nil"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.5, "1.5"), (123456.5, "123456.5"), (1234567.5, "1.2345675e+06"), (1e6, "1e+06"), (-2e-5, "-2e-05"), (0.0, "0")],
)
def test_general_float_text_is_that_of_fmt_print(value, text):
    assert gotext.general_float_text(value) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(2, "No such file or directory", "/a"), "no such file or directory"),
        (OSError("Short read"), "short read"),
    ],
)
def test_errors_of_the_operating_system_have_gos_words(error, text):
    assert gotext.errno_text(error) == text
