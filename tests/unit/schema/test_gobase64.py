from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.schema.gobase64 import normalize


@given(st.binary(max_size=40))
def test_normalize_keeps_canonical_base64(data):
    text = base64.b64encode(data).decode()
    assert normalize(text) == text


def test_normalize_skips_line_breaks():
    assert normalize("bXkt\r\nZGF0\nYQ==\n") == "bXktZGF0YQ=="


def test_normalize_clears_trailing_bits():
    assert normalize("YR==") == "YQ=="


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("!", 0),
        ("not base64", 3),
        ("YQ", 0),
        ("YWFhYQ", 4),
        ("YQ=", 3),
        ("YQ=x", 2),
        ("=", 0),
        ("Y===", 1),
        ("YQ==YQ==", 4),
    ],
)
def test_normalize_reports_the_first_corrupt_byte(text, index):
    with pytest.raises(ValueError) as caught:
        normalize(text)
    assert str(caught.value) == f"illegal base64 data at input byte {index}"


def outcome(text):
    try:
        return normalize(text)
    except ValueError as error:
        return str(error)


@given(st.text(max_size=20))
def test_normalize_of_any_text_returns_or_raises_value_error(text):
    assert re.fullmatch(r"[A-Za-z0-9+/]*={0,2}|illegal base64 data at input byte \d+", outcome(text))
