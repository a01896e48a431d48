"""Values of ``--tls-sni-cert-key``, and the precedence of their names."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from steersman.asynckit.certificates import make_ca, make_server
from steersman.asynckit.clock import RealClock
from steersman.controlplane.sni_certificates import (
    LoadedCertificate,
    NamedCertKey,
    parse_named_cert_key,
    server_contexts,
)

LIFE = timedelta(days=1)


@pytest.fixture(scope="module")
def load():
    """Function that returns a context with a certificate that has a common name and alternative names."""
    now = RealClock().now()
    authority = make_ca("ca", now=now, life=LIFE)

    def loaded(common, *hosts, names=()):
        pems = make_server(common, list(hosts), authority, now=now, life=LIFE)
        return LoadedCertificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pems.certificate, names)

    return loaded


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("foo.crt,foo.key", ()),
        ("  foo.crt , foo.key    ", ()),
        ("foo.crt,foo.key:abc", ("abc",)),
        ("foo.crt,foo.key: abc  ", ("abc",)),
        ("foo.crt,foo.key:abc,def,ghi", ("abc", "def", "ghi")),
        ("foo.crt,foo.key:*.*.*", ("*.*.*",)),
    ],
)
def test_parse_named_cert_key(text, names):
    assert parse_named_cert_key(text) == NamedCertKey(Path("foo.crt"), Path("foo.key"), names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo.crt,foo.key:", "empty names list is not allowed"),
        ("", "expected comma separated certificate and key file paths"),
        ("   ", "expected comma separated certificate and key file paths"),
        ("a,b,c", "expected comma separated certificate and key file paths"),
    ],
)
def test_parse_named_cert_key_rejects_malformed_values(text, message):
    with pytest.raises(ValueError, match=message):
        parse_named_cert_key(text)


def test_names_of_the_certificate_apply_without_explicit_ones(load):
    default, named = load("default", "localhost"), load("a.example.com", "b.example.com", "10.0.0.1")
    contexts = server_contexts(default, [named])
    for name in ("a.example.com", "b.example.com"):
        assert contexts.context_for(name) is named.context
    assert contexts.context_for("10.0.0.1") is contexts.context_for(None) is default.context


@pytest.mark.parametrize("common", ["10.0.0.1", "not a domain"])
def test_common_name_that_is_no_domain_is_not_a_name(load, common):
    default = load("default", "localhost")
    assert server_contexts(default, [load(common, "b.example.com")]).context_for(common) is default.context


def test_explicit_names_precede_those_of_certificates(load):
    default = load("default", "localhost")
    first, second = load("first", "a.example.com"), load("second", "x.example.com", names=("a.example.com",))
    assert server_contexts(default, [first, second]).context_for("a.example.com") is second.context


def test_first_of_several_certificates_for_a_name_is_used(load):
    default = load("default", "localhost")
    named = [load("first", "a.example.com"), load("second", "a.example.com")]
    assert server_contexts(default, named).context_for("a.example.com") is named[0].context


def test_other_names_get_a_certificate_that_is_valid_for_them_the_default_one_first(load):
    default = load("default", "a.example.com")
    named = load("named", "a.example.com", "b.example.com", names=("c.example.com",))
    contexts = server_contexts(default, [named])
    assert contexts.context_for("a.example.com") is default.context
    assert contexts.context_for("b.example.com") is named.context
    assert contexts.context_for("d.example.com") is default.context


def test_address_names_the_certificate_of_clients_without_a_name(load):
    default, named = load("default", "localhost"), load("named", "localhost", names=("10.0.0.1",))
    assert server_contexts(default, [named], address="10.0.0.1").context_for(None) is named.context
    assert server_contexts(default, [named]).context_for(None) is default.context
