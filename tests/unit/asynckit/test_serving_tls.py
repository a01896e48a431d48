"""TLS contexts of HTTPS servers."""

import ssl

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.serving_tls import make_context
from steersman.asynckit.tls_policy import TLSPolicy
from steersman.controlplane.serving_certificates import make_self_signed

NOW = FakeClock().now()
NAME = "server"


def test_context_requests_client_certificates_only_with_an_authority():
    pair = make_self_signed(NAME, "", now=NOW)
    assert make_context(pair, "").verify_mode is ssl.CERT_NONE
    assert make_context(pair, pair.certificate.decode()).verify_mode is ssl.CERT_OPTIONAL


@pytest.mark.parametrize(
    ("text", "version"),
    [("", ssl.TLSVersion.TLSv1_2), ("VersionTLS10", ssl.TLSVersion.TLSv1_2), ("VersionTLS13", ssl.TLSVersion.TLSv1_3)],
)
def test_context_has_the_minimum_version(text, version):
    context = make_context(make_self_signed(NAME, "", now=NOW), "", policy=TLSPolicy(text))
    assert context.minimum_version is version


def test_context_of_a_key_of_another_certificate_is_an_error():
    first, second = make_self_signed(NAME, "", now=NOW), make_self_signed(NAME, "", now=NOW)
    with pytest.raises(ssl.SSLError):
        make_context(first._replace(key=second.key), "")
