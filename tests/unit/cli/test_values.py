"""Values of flags as Kubernetes components write them."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from steersman.cli import values


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("1m0s", 60), ("1h15m30.5s", 4530.5), ("250ms", 0.25), (".5s", 0.5)]
)
def test_duration_is_read_in_seconds(text, seconds):
    assert values.duration(text) == seconds


@pytest.mark.parametrize(("text", "ports"), [("30000-32767", (30000, 32767)), ("80", (80, 80)), ("100+10", (100, 110))])
def test_port_range_is_first_and_last(text, ports):
    assert values.port_range(text) == ports


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("False", False), ("0", False)])
def test_boolean_reads_as_go(text, value):
    assert values.boolean(text) is value


def test_lists_and_maps_are_read():
    assert values.names("a, b,,c") == ("a", "b", "c")
    assert values.pairs("a=b=c, d=") == {"a": "b=c", "d": ""}
    assert values.paths("/a,/b") == (Path("/a"), Path("/b"))
    assert values.controllers("*,-job-controller,ttl") == ("*", "-job-controller", "ttl")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.5, "0.5"),
        (90_000_000.0, "90000000"),
        (30, "30"),
        (True, "true"),
        ("v1.0", "v1.0"),
        ("default", '"default"'),
        ("kube-system", '"kube-system"'),
        (("a", "b"), "a,b"),
    ],
)
def test_as_text_formats_defaults_and_quotes_words(value, text):
    assert values.as_text(value) == text


def test_feature_gates_may_name_the_component():
    assert values.feature_gates("A=true, kube:B=F") == {"A": True, "B": False}


def test_runtime_config_without_value_is_true():
    assert values.runtime_config("apps/v1,batch/v1=false,a/v1=") == {"apps/v1": True, "batch/v1": False, "a/v1": True}


@pytest.mark.parametrize(("text", "address"), [("10.0.0.1", "10.0.0.1"), ("2001:DB8::1", "2001:db8::1")])
def test_ip_is_normalized(text, address):
    assert values.ip(text) == address


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("2.5", 2.5), ("1e3", 1000.0)])
def test_number_may_have_a_fraction(text, value):
    assert values.number(text) == value


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        *((values.duration, text, "must be a duration such as 30s or 1m30s") for text in ("5", "s", "-1s")),
        *((values.port, text, "must be a port between 0 and 65535") for text in ("65536", "-1", "²")),
        *((values.port_range, text, "must be a range of ports such as 30000-32767") for text in ("2-1", "65535+1")),
        (values.count, "1.5", "must be a whole number, 0 or more"),
        (values.positive, "0", "must be greater than 0"),
        (values.percentage, "101", "must be between 0 and 100"),
        (values.prefix_length, "129", "must be between 0 and 128"),
        (values.fraction, "1.1", "must be between 0 and 1"),
        *((values.number, text, "must be a number, 0 or more") for text in ("", "-1", "x", "nan", "inf")),
        (values.boolean, "yes", "must be true or false"),
        (values.path, "", "must not be empty"),
        (values.ip, "localhost", 'failed to parse IP: "localhost"'),
        (values.controllers, "*,-nope", '"nope" is not in the list of known controllers'),
        (values.feature_gates, "A", "missing bool value for A"),
        (
            values.feature_gates,
            "A=perhaps",
            'invalid value of A=perhaps, err: strconv.ParseBool: parsing "perhaps": invalid syntax',
        ),
        (values.feature_gates, "other:A=true", "component not registered: other"),
        (
            values.runtime_config,
            "a/v1=perhaps",
            'invalid value of a/v1: perhaps, err: strconv.ParseBool: parsing "perhaps": invalid syntax',
        ),
        *((values.pairs, text, "must be of the form name=value") for text in ("a", "=b")),
    ],
)
def test_invalid_value_is_refused(read, text, expected):
    with pytest.raises(ArgumentTypeError) as refused:
        read(text)
    assert str(refused.value) == expected


def test_integers_may_be_negative_and_lists_of_them_not():
    assert (values.integer("-5"), values.integer("7")) == (-5, 7)
    assert values.integers("23, 24") == (23, 24)


def test_module_levels_are_pairs_of_pattern_and_level():
    assert values.module_levels("elector=4,a*=1") == (("elector", 4), ("a*", 1))


def test_emulated_versions_name_the_component_or_nothing():
    assert values.emulated_versions("kube=1.35") == ("kube=1.35",)
    assert values.emulated_versions("1.36") == ("1.36",)


@pytest.mark.parametrize(
    ("read", "text", "reason"),
    [
        (values.integer, "x", "must be a whole number"),
        (values.integers, "1,x", "must be a whole number"),
        (values.goaway_chance, "0.021", "can not be less than 0 or greater than 0.02"),
        (
            values.storage_backend,
            "etcd2",
            "invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'",
        ),
        (values.previous_version, "1.34", "must be omitted or have the value '1.35'"),
        (values.string_to_string, "a", "a must be formatted as key=value"),
        (values.string_to_string, "a=b,c,d=e", "c must be formatted as key=value"),
        (values.module_levels, "elector", "must be of the form name=value"),
        (values.module_levels, "elector=x", "must be a whole number, 0 or more"),
        (values.emulated_versions, "etcd=1.2", "component not registered: etcd"),
        (values.emulated_versions, "kube=x", 'illegal version string "x"'),
        (values.tls_version, "VersionSSL3", 'unknown tls version "VersionSSL3"'),
        (values.cloud_provider, "aws", "built-in cloud providers are disabled"),
        (values.certificate_pairs, "a,b,c", "expected comma separated certificate and key file paths"),
    ],
)
def test_values_of_upstream_flags_are_checked(read, text, reason):
    with pytest.raises(ArgumentTypeError, match=reason):
        read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metric,label=a,b", {"metric,label": "a,b"}),
        ('"metric,label=a,b"', {"metric,label": "a,b"}),
        ('"m1,l=a,b","m2,l=c"', {"m1,l": "a,b", "m2,l": "c"}),
        ("a=b,c=d", {"a": "b", "c": "d"}),
        ("a=", {"a": ""}),
    ],
)
def test_string_to_string(text, expected):
    assert values.string_to_string(text) == expected
