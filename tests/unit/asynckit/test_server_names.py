"""Choice of a context by the server name. ``test_sni_certificates`` and ``test_dynamic_certificates`` have the handshakes."""

import ssl

import pytest

from steersman.asynckit.server_names import ServerContexts


def context():
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


DEFAULT, EXACT, WILDCARD, VALID, ADDRESS = (context() for _ in range(5))
CONTEXTS = ServerContexts(
    DEFAULT,
    named={"a.example.com": EXACT, "*.example.com": WILDCARD, "10.0.0.1": ADDRESS},
    valid_for={"other.example.org": VALID, "*.wild.org": VALID, "b.example.com": VALID},
    address="10.0.0.1",
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.example.com", EXACT),
        ("A.Example.COM", EXACT),
        ("b.example.com", WILDCARD),
        ("b.c.example.com", DEFAULT),
        ("example.com", DEFAULT),
        ("other.example.org", VALID),
        ("a.wild.org", VALID),
        ("", ADDRESS),
        (None, ADDRESS),
    ],
)
def test_context_is_chosen_by_name_then_wildcard_then_valid_certificate(name, expected):
    assert CONTEXTS.context_for(name) is expected


def test_default_context_is_used_without_names():
    contexts = ServerContexts(DEFAULT)
    assert contexts.context_for(None) is contexts.context_for("a") is DEFAULT
