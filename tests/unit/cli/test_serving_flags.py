"""Flags of serving, authentication and authorization of clients of the API server."""

import pytest

from steersman.cli.flag_parser import FlagParser, HelpPage
from steersman.cli.flag_table import add_table
from steersman.cli.serving_flags import SERVING_FLAGS


def parse(*arguments):
    parser = FlagParser("do", HelpPage("Do it."))
    add_table(parser, SERVING_FLAGS)
    return {name: value for name, value in vars(parser.parse_args(arguments)).items() if name != "help"}


@pytest.mark.parametrize(
    ("argument", "target", "value"),
    [
        ("--bind-address=::1", "bind_address", "::1"),
        ("--secure_port=10257", "secure_port", 10257),
        ("--authentication-kubeconfig=", "authentication_kubeconfig", ""),
        ("--authentication-skip-lookup", "authentication_skip_lookup", True),
        ("--authentication-token-webhook-cache-ttl=10s", "authentication_token_webhook_cache_ttl_seconds", 10.0),
        ("--authorization-always-allow-paths=/a,/b", "authorization_always_allow_paths", ("/a", "/b")),
        ("--tls-curve-preferences=23,24", "tls_curve_preferences", (23, 24)),
        ("--tls-sni-cert-key=a.crt,a.key:a,b", "tls_sni_cert_key", ("a.crt,a.key:a,b",)),
    ],
)
def test_serving_flags_set_the_options_of_their_names(argument, target, value):
    assert parse(argument) == {target: value}


def test_serving_flags_that_are_not_given_set_nothing():
    assert parse() == {}


def test_tls_sni_cert_key_may_be_repeated():
    assert parse("--tls-sni-cert-key=a,b", "--tls-sni-cert-key=c,d:e") == {"tls_sni_cert_key": ("a,b", "c,d:e")}


def test_tls_sni_cert_key_without_key_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse("--tls-sni-cert-key=a")
    assert "expected comma separated certificate and key file paths" in capsys.readouterr().err
