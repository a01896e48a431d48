"""Options of TLS that all servers share."""

from pathlib import Path

import pytest

from steersman.asynckit.tls_policy import TLSPolicy
from steersman.controlplane.options import OptionError
from steersman.controlplane.sni_certificates import NamedCertKey
from steersman.controlplane.tls_options import check_named_cert_keys, check_tls_policy, named_cert_keys, tls_policy
from steersman.runtime.serving_options import ServingOptions


def test_options_are_the_policy():
    options = ServingOptions(
        tls_min_version="VersionTLS13", tls_cipher_suites=("TLS_AES_128_GCM_SHA256",), tls_curve_preferences=(23,)
    )
    assert tls_policy(options) == TLSPolicy("VersionTLS13", ("TLS_AES_128_GCM_SHA256",), (23,))
    assert check_tls_policy(options) == []


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("tls_cipher_suites", ("X",), "--tls-cipher-suites: Cipher suite X not supported"),
        ("tls_curve_preferences", (0,), "--tls-curve-preferences: curve preference 0 is out of range"),
    ],
)
def test_invalid_policy_names_its_flag(field, value, message):
    with pytest.raises(OptionError, match=message):
        check_tls_policy(ServingOptions(**{field: value}))


def test_named_pairs_are_parsed_and_their_files_checked():
    options = ServingOptions(tls_sni_cert_key=("/none,/k:a",))
    assert named_cert_keys(options) == [NamedCertKey(Path("/none"), Path("/k"), ("a",))]
    with pytest.raises(OptionError, match="--tls-sni-cert-key: cannot read /none"):
        check_named_cert_keys(options)
    with pytest.raises(OptionError, match="--tls-sni-cert-key: empty names list is not allowed"):
        named_cert_keys(ServingOptions(tls_sni_cert_key=("a,b:",)))
