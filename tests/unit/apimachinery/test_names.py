"""Syntax of names, with the messages that clients see."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery import names

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
DNS1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
    "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
TWO_SLASHES = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize("name", ["a", "1.a-2.b", "a" * 253])
def test_check_dns1123_subdomain_accepts_valid_names(name: str) -> None:
    assert names.check_dns1123_subdomain(name) == ()


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("", (SUBDOMAIN,)),
        ("Abc", (SUBDOMAIN,)),
        ("a-", (SUBDOMAIN,)),
        ("a..b", (SUBDOMAIN,)),
        ("a\n", (SUBDOMAIN,)),
        ("é", (SUBDOMAIN,)),
        ("a" * 254, ("must be no more than 253 characters",)),
    ],
)
def test_check_dns1123_subdomain_rejects_invalid_names(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_dns1123_subdomain(name) == faults


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("a-1", ()),
        ("a.b", ("must not contain dots",)),
        ("a_b", (LABEL,)),
        ("a" * 64, ("must be no more than 63 characters",)),
        ("A" * 64, ("must be no more than 63 characters", LABEL)),
    ],
)
def test_check_dns1123_label_of_each_rule(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_dns1123_label(name) == faults


@pytest.mark.parametrize(
    ("name", "faults"), [("a-1", ()), ("1a", (DNS1035,)), ("a" * 64, ("must be no more than 63 characters",))]
)
def test_check_dns1035_label_of_each_rule(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_dns1035_label(name) == faults


@pytest.mark.parametrize("key", ["a", "A_b.c-d", "example.com/X", "1"])
def test_check_qualified_name_accepts_valid_names(key: str) -> None:
    assert names.check_qualified_name(key) == ()


@pytest.mark.parametrize(
    ("key", "faults"),
    [
        ("", ("name part must be non-empty", NAME_PART)),
        ("a b", (NAME_PART,)),
        ("-a", (NAME_PART,)),
        ("/b", ("prefix part must be non-empty",)),
        ("a/", ("name part must be non-empty", NAME_PART)),
        ("a/b/c", (TWO_SLASHES,)),
        ("Example.com/b", (f"prefix part {SUBDOMAIN}",)),
        ("a" * 64, ("name part must be no more than 63 bytes",)),
        ("a" * 254 + "/b", ("prefix part must be no more than 253 bytes",)),
    ],
)
def test_check_qualified_name_rejects_invalid_names(key: str, faults: tuple[str, ...]) -> None:
    assert names.check_qualified_name(key) == faults


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ("", ()),
        ("1.2_a-B", ()),
        ("-x", (LABEL_VALUE,)),
        ("é", (LABEL_VALUE,)),
        ("a" * 63, ()),
        ("a" * 64, ("must be no more than 63 bytes",)),
        ("é" * 32, ("must be no more than 63 bytes", LABEL_VALUE)),
    ],
)
def test_check_label_value_of_each_rule(value: str, faults: tuple[str, ...]) -> None:
    assert names.check_label_value(value) == faults


@pytest.mark.parametrize(
    ("key", "faults"),
    [
        ("key.name_A-1", ()),
        ("..data", ("must not start with '..'",)),
        (".", ("must not be '.'",)),
        ("..", ("must not be '..'",)),
        (
            "n n",
            (
                (
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
                    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                ),
            ),
        ),
    ],
)
def test_check_config_map_key_of_each_rule(key: str, faults: tuple[str, ...]) -> None:
    assert names.check_config_map_key(key) == faults


def test_cached_check_returns_equal_results_after_eviction() -> None:
    wrong = names.check_config_map_key("..a/b")
    assert wrong
    assert [names.check_config_map_key(f"key-{n}") for n in range(5000)] == [()] * 5000
    assert names.check_config_map_key("..a/b") == wrong
    assert names.check_config_map_key("a" * 600) == names.check_config_map_key("a" * 600) != ()


def test_check_wildcard_dns1123_subdomain_of_each_rule() -> None:
    assert names.check_wildcard_dns1123_subdomain("*.example.com") == ()
    assert names.check_wildcard_dns1123_subdomain("a.*.com")[0].startswith(
        "a wildcard DNS-1123 subdomain must start with '*.'"
    )


def test_check_dns1123_subdomain_with_underscore_accepts_underscores() -> None:
    assert names.check_dns1123_subdomain_with_underscore("_a.b_c.d") == ()
    assert names.check_dns1123_subdomain_with_underscore("a_") != ()


@pytest.mark.parametrize(("name", "right"), [("_a1", True), ("1a", False), ("a-b", False)])
def test_check_c_identifier_of_each_rule(name: str, right: bool) -> None:
    assert (names.check_c_identifier(name) == ()) is right


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("1 a!", ()),
        ("", ("environment variable name must be non-empty",)),
        ("a=", ("a valid environment variable name must consist only of printable ASCII characters other than '='",)),
        ("é", ("a valid environment variable name must consist only of printable ASCII characters other than '='",)),
    ],
)
def test_check_relaxed_env_var_name_of_each_rule(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_relaxed_env_var_name(name) == faults


def test_check_http_header_name_of_each_rule() -> None:
    assert names.check_http_header_name("X-A") == ()
    assert names.check_http_header_name("a b") == (
        (
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
            "regex used for validation is '[-A-Za-z0-9]+')"
        ),
    )


def test_check_percent_of_each_rule() -> None:
    assert names.check_percent("25%") == ()
    assert names.check_percent("many") == (
        (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
            "regex used for validation is '[0-9]+%')"
        ),
    )


@pytest.mark.parametrize(("port", "right"), [(1, True), (65535, True), (0, False), (65536, False)])
def test_check_port_number_of_each_rule(port: int, right: bool) -> None:
    assert names.check_port_number(port) == (() if right else ("must be between 1 and 65535, inclusive",))


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("http-1", ()),
        ("a" * 16, ("must be no more than 15 characters",)),
        (
            "A1",
            (
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)",
            ),
        ),
        ("12", ("must contain at least one letter (a-z)",)),
        ("a--b", ("must not contain consecutive hyphens",)),
        ("-a", ("must not begin or end with a hyphen",)),
    ],
)
def test_check_port_name_of_each_rule(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_port_name(name) == faults


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("System: my_role", ()),
        ("..", ("may not be '..'",)),
        (".", ("may not be '.'",)),
        ("a/b%c", ("may not contain '/'", "may not contain '%'")),
    ],
)
def test_check_path_segment_of_each_rule(name: str, faults: tuple[str, ...]) -> None:
    assert names.name_is_path_segment(name) == faults


@pytest.mark.parametrize(
    ("prefix", "right"), [("a", True), ("a-", True), ("a--", True), ("-", False), ("a.", False), ("Gen_", False)]
)
def test_name_rules_accept_a_trailing_dash_in_prefixes(prefix: str, right: bool) -> None:
    assert (names.name_is_dns_subdomain(prefix, prefix=True) == ()) is right


def test_check_path_segment_prefix_accepts_a_dot() -> None:
    assert names.name_is_path_segment(".", prefix=True) == ()


def test_generate_name_appends_five_characters() -> None:
    assert re.fullmatch("gen-[bcdfghjklmnpqrstvwxz2456789]{5}", names.generate_name("gen-", random.Random(1)))


@given(st.text(max_size=100), st.randoms(use_true_random=False))
def test_generate_name_fits_a_label(prefix: str, dice: random.Random) -> None:
    name = names.generate_name(prefix, dice)
    assert len(name) <= 63
    assert name[:-5] == prefix[:58]


@given(st.text(alphabet="ab-.Z1é", max_size=70))
def test_is_dns1123_label_agrees_with_the_check(value: str) -> None:
    assert names.is_dns1123_label(value) is (names.check_dns1123_label(value) == ())
