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
def test_right_subdomains(name: str) -> None:
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
def test_wrong_subdomains(name: str, faults: tuple[str, ...]) -> None:
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
def test_labels(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_dns1123_label(name) == faults


@pytest.mark.parametrize(
    ("name", "faults"), [("a-1", ()), ("1a", (DNS1035,)), ("a" * 64, ("must be no more than 63 characters",))]
)
def test_dns1035_labels(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_dns1035_label(name) == faults


@pytest.mark.parametrize("key", ["a", "A_b.c-d", "example.com/X", "1"])
def test_right_qualified_names(key: str) -> None:
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
def test_wrong_qualified_names(key: str, faults: tuple[str, ...]) -> None:
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
def test_label_values(value: str, faults: tuple[str, ...]) -> None:
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
def test_config_map_keys(key: str, faults: tuple[str, ...]) -> None:
    assert names.check_config_map_key(key) == faults


def test_a_check_says_the_same_again_however_much_was_checked_between() -> None:
    wrong = names.check_config_map_key("..a/b")
    assert wrong
    assert [names.check_config_map_key(f"key-{n}") for n in range(5000)] == [()] * 5000
    assert names.check_config_map_key("..a/b") == wrong
    assert names.check_config_map_key("a" * 600) == names.check_config_map_key("a" * 600) != ()


def test_wildcard_names() -> None:
    assert names.check_wildcard_dns1123_subdomain("*.example.com") == ()
    assert names.check_wildcard_dns1123_subdomain("a.*.com")[0].startswith(
        "a wildcard DNS-1123 subdomain must start with '*.'"
    )


def test_search_domains_may_hold_underscores() -> None:
    assert names.check_dns1123_subdomain_with_underscore("_a.b_c.d") == ()
    assert names.check_dns1123_subdomain_with_underscore("a_") != ()


@pytest.mark.parametrize(("name", "right"), [("_a1", True), ("1a", False), ("a-b", False)])
def test_c_identifiers(name: str, right: bool) -> None:
    assert (names.check_c_identifier(name) == ()) is right


@pytest.mark.parametrize(("name", "right"), [("my.env-NAME_1", True), ("1a", False), ("..", False), ("a=b", False)])
def test_environment_variables(name: str, right: bool) -> None:
    assert (names.check_env_var_name(name) == ()) is right


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("1 a!", ()),
        ("", ("environment variable name must be non-empty",)),
        ("a=", ("a valid environment variable name must consist only of printable ASCII characters other than '='",)),
        ("é", ("a valid environment variable name must consist only of printable ASCII characters other than '='",)),
    ],
)
def test_environment_variables_by_the_relaxed_rule(name: str, faults: tuple[str, ...]) -> None:
    assert names.check_relaxed_env_var_name(name) == faults


def test_http_header_names() -> None:
    assert names.check_http_header_name("X-A") == ()
    assert names.check_http_header_name("a b") == (
        (
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
            "regex used for validation is '[-A-Za-z0-9]+')"
        ),
    )


def test_percents() -> None:
    assert names.check_percent("25%") == ()
    assert names.check_percent("many") == (
        (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
            "regex used for validation is '[0-9]+%')"
        ),
    )


@pytest.mark.parametrize(("port", "right"), [(1, True), (65535, True), (0, False), (65536, False)])
def test_port_numbers(port: int, right: bool) -> None:
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
def test_port_names(name: str, faults: tuple[str, ...]) -> None:
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
def test_path_segments(name: str, faults: tuple[str, ...]) -> None:
    assert names.name_is_path_segment(name) == faults


@pytest.mark.parametrize(
    ("prefix", "right"), [("a", True), ("a-", True), ("a--", True), ("-", False), ("a.", False), ("Gen_", False)]
)
def test_prefixes_may_end_in_a_dash(prefix: str, right: bool) -> None:
    assert (names.name_is_dns_subdomain(prefix, prefix=True) == ()) is right


def test_a_path_segment_prefix_may_be_a_dot() -> None:
    assert names.name_is_path_segment(".", prefix=True) == ()


def test_generated_names_keep_the_prefix_and_add_five_characters() -> None:
    assert re.fullmatch("gen-[bcdfghjklmnpqrstvwxz2456789]{5}", names.generate_name("gen-", random.Random(1)))


@given(st.text(max_size=100), st.randoms(use_true_random=False))
def test_generated_names_fit_a_label(prefix: str, dice: random.Random) -> None:
    name = names.generate_name(prefix, dice)
    assert len(name) <= 63
    assert name[:-5] == prefix[:58]


@given(st.text(alphabet="ab-.Z1é", max_size=70))
def test_the_short_test_for_a_label_says_what_the_rule_says(value: str) -> None:
    assert names.is_dns1123_label(value) is (names.check_dns1123_label(value) == ())
