"""Plain and tagged scalars of YAML 1.1."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.yaml_scalars import MERGE, key_text, needs_quotes, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("y", True),
        ("Yes", True),
        ("on", True),
        ("TRUE", True),
        ("N", False),
        ("off", False),
        ("yEs", "yEs"),
        ("0x1f", 31),
        ("-0b11", -3),
        ("017", 15),
        ("0o17", 15),
        ("08", 8),
        ("+5", 5),
        ("1_000", 1000),
        ("18446744073709551615", 2**64 - 1),
        ("2.0", 2),
        ("1e3", 1000),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("2001-01-01", "2001-01-01"),
        ("12:30:45", "12:30:45"),
        ("<<", MERGE),
        ("+", "+"),
    ],
)
def test_resolve_plain_scalars(text: str, value: Any) -> None:
    result = resolve(text, tag=None, plain=True)
    assert result == value
    assert type(result) is type(value)


def test_resolve_quoted_scalars_as_strings() -> None:
    assert resolve("1", tag=None, plain=False) == "1"
    assert resolve("1", tag="!", plain=True) == "1"


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        ("str", "1", "1"),
        ("int", "3", 3),
        ("float", "3", 3),
        ("bool", "yes", True),
        ("binary", "aGk=", "hi"),
        ("other", "1", "1"),
    ],
)
def test_resolve_tagged_scalars(tag: str, text: str, value: Any) -> None:
    assert resolve(text, tag=f"tag:yaml.org,2002:{tag}", plain=False) == value


def test_resolve_ignores_local_tags() -> None:
    assert resolve("1", tag="!mine", plain=True) == "1"


@pytest.mark.parametrize(("tag", "text"), [("int", "abc"), ("bool", "1"), ("binary", "a")])
def test_resolve_rejects_values_that_contradict_their_tag(tag: str, text: str) -> None:
    with pytest.raises(DecodeError):
        resolve(text, tag=f"tag:yaml.org,2002:{tag}", plain=True)


@pytest.mark.parametrize(("key", "text"), [("a", "a"), (True, "true"), (False, "false"), (7, "7"), (2.5, "2.5")])
def test_keys_are_converted_to_strings(key: Any, text: str) -> None:
    assert key_text(key) == text


@pytest.mark.parametrize("key", [None, [], {}])
def test_keys_of_other_types_are_rejected(key: Any) -> None:
    with pytest.raises(DecodeError, match="unsupported map key"):
        key_text(key)


@pytest.mark.parametrize(
    ("text", "needed"),
    [("yes", True), ("12:30", True), ("2001-01-01", True), ("1", True), ("a", False), ("1.2.3", False)],
)
def test_needs_quotes_for_ambiguous_strings(text: str, needed: bool) -> None:
    assert needs_quotes(text) is needed
