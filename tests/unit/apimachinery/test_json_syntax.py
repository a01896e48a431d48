"""Syntax errors of JSON text with the messages of Go."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.json_syntax import explain


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", "unexpected end of JSON input"),
        (b"  ", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'"a\\', "unexpected end of JSON input"),
        (b"nul", "unexpected end of JSON input"),
        (b"1.", "unexpected end of JSON input"),
        (b"hello", "invalid character 'h' looking for beginning of value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"'a'", "invalid character '\\'' looking for beginning of value"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"\xc7", "invalid character 'Ç' looking for beginning of value"),
        (b"\x81", "invalid character '\\u0081' looking for beginning of value"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"trux", "invalid character 'x' in literal true (expecting 'e')"),
    ],
)
def test_explain_returns_the_first_error(raw: bytes, fault: str) -> None:
    assert explain(raw) == fault


@pytest.mark.parametrize(
    "raw", [b" [ ] ", b"{ }", b'{"a":[1,-0.5e+3,"\\u00e9",true,false,null]}', b"[" * 5000 + b"]" * 5000]
)
def test_explain_is_none_for_valid_json(raw: bytes) -> None:
    assert explain(raw) is None


@given(st.text(alphabet='{}[]",:\\ntru1.e- \n'))
def test_explain_agrees_with_the_json_module(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda name: json.loads(f"no {name}"))
    except ValueError:
        assert explain(text.encode()) is not None
    else:
        assert explain(text.encode()) is None
