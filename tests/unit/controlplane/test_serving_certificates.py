"""Serving certificates of components."""

import stat

from cryptography import x509

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.serving_certificates import make_self_signed, read_or_make_pair
from steersman.runtime.serving_options import ServingOptions

NOW = FakeClock().now()
NAME = "kube-scheduler"


def test_self_signed_certificate_names_this_machine_and_comes_with_its_authority():
    leaf, authority = x509.load_pem_x509_certificates(make_self_signed(NAME, "10.1.2.3", now=NOW).certificate)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert {"127.0.0.1", "::1", "10.1.2.3"} <= {str(name) for name in names.get_values_for_type(x509.IPAddress)}
    leaf.verify_directly_issued_by(authority)


def test_given_files_are_used(tmp_path):
    self_signed = make_self_signed(NAME, "", now=NOW)
    (tmp_path / "a.crt").write_bytes(self_signed.certificate)
    (tmp_path / "a.key").write_bytes(self_signed.key)
    options = ServingOptions(tls_cert_file=str(tmp_path / "a.crt"), tls_private_key_file=str(tmp_path / "a.key"))
    assert read_or_make_pair(options, NAME, now=NOW) == self_signed


def test_certificate_directory_keeps_the_pair_of_the_component(tmp_path):
    options = ServingOptions(cert_dir=str(tmp_path / "pki"))
    pair = read_or_make_pair(options, NAME, now=NOW)
    assert read_or_make_pair(options, NAME, now=NOW) == pair
    assert (tmp_path / "pki" / f"{NAME}.crt").read_bytes() == pair.certificate
    assert stat.S_IMODE((tmp_path / "pki" / f"{NAME}.key").stat().st_mode) == 0o600


def test_self_signed_certificate_is_created_without_files_and_directory():
    assert read_or_make_pair(ServingOptions(), NAME, now=NOW) != read_or_make_pair(ServingOptions(), NAME, now=NOW)
