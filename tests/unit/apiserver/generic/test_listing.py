"""Versions as texts. What lists show is tested through the endpoint."""

from __future__ import annotations

import pytest

from steersman.apiserver.generic.listing import parse_version


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("0", 0), ("17", 17), (str(2**64 - 1), 2**64 - 1)])
def test_resource_versions_are_unsigned_numbers(text, expected):
    assert parse_version(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("abc", "invalid syntax"), ("-1", "invalid syntax"), ("1.0", "invalid syntax"), ("٣", "invalid syntax")]
    + [(text, "value out of range") for text in (str(2**64), "9" * 5000)],
)
def test_invalid_resource_version_has_the_error_of_go(text, message):
    with pytest.raises(ValueError, match=rf"strconv.ParseUint: parsing .*: {message}$"):
        parse_version(text)
