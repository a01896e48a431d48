"""Creation of keys and certificates. The only module that imports ``cryptography``; import it on demand."""

from __future__ import annotations

from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.x509 import CertificateBuilder, GeneralName, Name

#: Backdating for clients with slow clocks.
_BACKDATED: Final = timedelta(minutes=5)


class Pems(msgspec.Struct, frozen=True):
    """Certificate and key in PEM."""

    certificate: bytes
    key: bytes
    #: Hexadecimal serial number; identifies a CA.
    serial: str = ""


def make_ca(name: str, *, now: datetime, life: timedelta) -> Pems:
    """Return a self-signed CA with a P-256 key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name, [])
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = _builder(subject, subject, key, now=now, life=life)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(usage, critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return _signed(builder, key, key)


def check_ca(certificate: bytes, key: bytes) -> tuple[datetime, str]:
    """Return the end and the serial number of a CA in PEM. Raises ``ValueError`` if they do not match."""
    loaded = x509.load_pem_x509_certificate(certificate)
    if loaded.public_key() != _load_key(key).public_key():
        raise ValueError("the key is not that of the certificate")
    return loaded.not_valid_after_utc, f"{loaded.serial_number:x}"


class CertificateNames(msgspec.Struct, frozen=True):
    """Common name of a certificate, empty for none, and its DNS names."""

    common: str
    dns: list[str]


def names_of(certificate: bytes) -> CertificateNames:
    """Return the names of the first certificate of a chain in PEM. Raises ``ValueError``."""
    leaf = x509.load_pem_x509_certificates(certificate)[0]
    common = leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    try:
        alternatives = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        dns = []
    else:
        dns = alternatives.get_values_for_type(x509.DNSName)
    return CertificateNames(str(common[-1].value) if common else "", dns)


def make_server(name: str, hosts: list[str], authority: Pems, *, now: datetime, life: timedelta) -> Pems:
    """Return a serving certificate for host names and addresses."""
    alternatives = [_general_name(host) for host in hosts]
    return _make_leaf(
        _name(name, []), authority, ExtendedKeyUsageOID.SERVER_AUTH, alternatives=alternatives, now=now, life=life
    )


def check_server(certificate: bytes, key: bytes, authorities: bytes) -> tuple[datetime, list[str]]:
    """Return the end and the host names and addresses of a serving certificate in PEM.

    Raises ``ValueError`` if it does not match its key, or if none of ``authorities`` has issued it.
    """
    loaded = x509.load_pem_x509_certificate(certificate)
    if loaded.public_key() != _load_key(key).public_key():
        raise ValueError("the key is not that of the certificate")
    if not any(_has_issued(authority, loaded) for authority in x509.load_pem_x509_certificates(authorities)):
        raise ValueError("the certificate is not issued by any of the authorities")
    try:
        extension = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return loaded.not_valid_after_utc, []
    return loaded.not_valid_after_utc, [str(name.value) for name in extension.value]


def drop_expired(certificates: bytes, *, now: datetime) -> bytes:
    """Return the certificates in PEM that have not expired. Raises ``ValueError``."""
    valid = [one for one in x509.load_pem_x509_certificates(certificates) if one.not_valid_after_utc > now]
    return b"".join(one.public_bytes(Encoding.PEM) for one in valid)


def make_client(user: str, groups: list[str], authority: Pems, *, now: datetime, life: timedelta) -> Pems:
    """Return a client certificate: the user as common name, the groups as organizations."""
    return _make_leaf(
        _name(user, groups), authority, ExtendedKeyUsageOID.CLIENT_AUTH, alternatives=[], now=now, life=life
    )


def _load_key(key: bytes) -> PrivateKeyTypes:
    """Return a private key in PEM. Raises ``ValueError``."""
    try:
        return load_pem_private_key(key, None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from error


def _has_issued(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def _make_leaf(
    subject: Name,
    authority: Pems,
    purpose: x509.ObjectIdentifier,
    *,
    alternatives: list[GeneralName],
    now: datetime,
    life: timedelta,
) -> Pems:
    ca = x509.load_pem_x509_certificate(authority.certificate)
    ca_key = load_pem_private_key(authority.key, password=None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(subject, ca.subject, key, now=now, life=life)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return _signed(builder, key, ca_key)


def _name(common: str, organizations: list[str]) -> Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general_name(host: str) -> GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: Name, issuer: Name, key: ec.EllipticCurvePrivateKey, *, now: datetime, life: timedelta
) -> CertificateBuilder:
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - _BACKDATED,
        not_valid_after=now + life,
    )


def _signed(builder: CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey) -> Pems:
    certificate = builder.sign(signer, SHA256())
    return Pems(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        f"{certificate.serial_number:x}",
    )
