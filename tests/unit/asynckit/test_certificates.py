"""Contents of certificates."""

import datetime as dt
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.asynckit import certificates

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


@pytest.fixture(scope="module")
def ca() -> certificates.Pems:
    return certificates.make_ca("test", now=NOW, life=10 * DAY)


def load(pems: certificates.Pems) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pems.certificate)


def test_ca_certificate_may_sign(ca):
    certificate = load(ca)
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    certificate.verify_directly_issued_by(certificate)


def test_server_certificate_has_names_and_addresses(ca):
    server = certificates.make_server("server", ["localhost", "10.0.0.1", "::1"], ca, now=NOW, life=DAY)
    certificate = load(server)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("10.0.0.1"), ip_address("::1")]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    certificate.verify_directly_issued_by(load(ca))


def test_client_certificate_has_user_and_groups(ca):
    certificate = load(certificates.make_client("alice", ["a", "b"], ca, now=NOW, life=DAY))
    values = {
        oid: [a.value for a in certificate.subject.get_attributes_for_oid(oid)]
        for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
    }
    assert values == {NameOID.COMMON_NAME: ["alice"], NameOID.ORGANIZATION_NAME: ["a", "b"]}
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert certificate.not_valid_after_utc == NOW + DAY
    assert certificate.not_valid_before_utc < NOW


def test_serving_certificate_has_its_end_and_hosts(ca):
    other = certificates.make_ca("test", now=NOW, life=DAY)
    server = certificates.make_server("server", ["a.b.svc", "::1"], ca, now=NOW, life=DAY)
    end, hosts = certificates.check_server(server.certificate, server.key, other.certificate + ca.certificate)
    assert (end, hosts) == (NOW + DAY, ["a.b.svc", "::1"])
    with pytest.raises(ValueError, match="not issued by any of the authorities"):
        certificates.check_server(server.certificate, server.key, other.certificate)
    with pytest.raises(ValueError, match="the key is not that of the certificate"):
        certificates.check_server(server.certificate, ca.key, ca.certificate)
    for broken in (b"", b"-----BEGIN CERTIFICATE-----"):
        with pytest.raises(ValueError, match=r".+"):
            certificates.check_server(broken, server.key, ca.certificate)
        with pytest.raises(ValueError, match=r".+"):
            certificates.check_server(server.certificate, broken, ca.certificate)
        with pytest.raises(ValueError, match=r".+"):
            certificates.check_server(server.certificate, server.key, broken)
    client = certificates.make_client("jane", [], ca, now=NOW, life=DAY)
    assert certificates.check_server(client.certificate, client.key, ca.certificate) == (NOW + DAY, [])


def test_expired_certificates_are_dropped(ca):
    short = certificates.make_ca("short", now=NOW, life=DAY)
    both = short.certificate + ca.certificate
    assert certificates.drop_expired(both, now=NOW) == both
    assert certificates.drop_expired(both, now=NOW + DAY) == ca.certificate
