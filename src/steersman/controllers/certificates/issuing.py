"""Decoding requests and issuing certificates: the only X.509 code of the package."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed448, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.controllers.certificates.plan import RequestAttributes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

#: Usages of the API → arguments of ``x509.KeyUsage``.
_KEY_USAGES: Final = {
    "signing": "digital_signature", "digital signature": "digital_signature", "content commitment": "content_commitment",
    "key encipherment": "key_encipherment", "key agreement": "key_agreement", "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign", "crl sign": "crl_sign", "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}  # fmt: skip
_EXTENDED_USAGES: Final = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE, "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH, "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION, "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"), "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}  # fmt: skip


class Request:
    """Decoded PKCS#10 request. Raises ValueError if it is malformed."""

    def __init__(self, encoded: str) -> None:
        """``encoded``: base64 of PEM, as in ``spec.request``."""
        self.x509: Final = x509.load_pem_x509_csr(base64.b64decode(encoded))
        if not self.x509.is_signature_valid:
            raise ValueError("the request's signature is wrong")

    @property
    def attributes(self) -> RequestAttributes:
        """Return the attributes for the rules."""
        names = self._names()
        return RequestAttributes(
            common_name="".join(_texts(self.x509.subject, NameOID.COMMON_NAME)[:1]),
            organizations=tuple(_texts(self.x509.subject, NameOID.ORGANIZATION_NAME)),
            dns_names=tuple(names.get_values_for_type(x509.DNSName)) if names else (),
            ip_addresses=tuple(map(str, names.get_values_for_type(x509.IPAddress))) if names else (),
            emails=tuple(names.get_values_for_type(x509.RFC822Name)) if names else (),
            uris=tuple(names.get_values_for_type(x509.UniformResourceIdentifier)) if names else (),
        )

    def names_extension(self) -> x509.Extension[x509.SubjectAlternativeName] | None:
        """Return the requested subject alternative names."""
        try:
            return self.x509.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return None

    def _names(self) -> x509.SubjectAlternativeName | None:
        names_extension = self.names_extension()
        return names_extension.value if names_extension else None


class Authority:
    """Signing CA."""

    def __init__(self, certificate: bytes, key: bytes) -> None:
        """Load a CA from PEM texts. Raises ValueError."""
        self._certificate: Final = x509.load_pem_x509_certificate(certificate)
        self._key: Final = cast("Any", serialization.load_pem_private_key(key, password=None))

    @property
    def validity(self) -> tuple[datetime, datetime]:
        """Return ``notBefore`` and ``notAfter``."""
        return self._certificate.not_valid_before_utc, self._certificate.not_valid_after_utc

    def sign(self, request: Request, usages: Collection[str], *, validity: tuple[datetime, datetime]) -> str:
        """Return the issued certificate as base64 of PEM. Raises ValueError for an unknown usage."""
        names = request.names_extension()
        builder = (
            x509.CertificateBuilder()
            .subject_name(request.x509.subject)
            .issuer_name(self._certificate.subject)
            .public_key(request.x509.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(validity[0])
            .not_valid_after(validity[1])
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_authority_key(self._certificate), critical=False)
        )
        key_usage, extended = _key_usage(usages), _extended_usage(usages)
        if key_usage is not None:
            builder = builder.add_extension(key_usage, critical=True)
        if extended is not None:
            builder = builder.add_extension(extended, critical=False)
        if names is not None:
            builder = builder.add_extension(names.value, critical=names.critical)
        plain = isinstance(self._key, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey))
        certificate = builder.sign(self._key, None if plain else hashes.SHA256())
        return base64.b64encode(certificate.public_bytes(serialization.Encoding.PEM)).decode()


def certificate_end(encoded: str | None) -> datetime | None:
    """Return ``notAfter`` of the first certificate in a status; None if none can be decoded."""
    try:
        return x509.load_pem_x509_certificate(base64.b64decode(encoded or "")).not_valid_after_utc
    except ValueError:
        return None


def _authority_key(certificate: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    try:
        own = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(cast("Any", certificate.public_key()))
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own.value)


def _key_usage(usages: Iterable[str]) -> x509.KeyUsage | None:
    """Return the extension; None without a usage, as in Go: OpenSSL rejects certificates with an empty one."""
    key_usages = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    if not key_usages:
        return None
    agreed = "key_agreement" in key_usages  # the last two are only valid with it
    flags = {name: name in key_usages for name in dict.fromkeys(_KEY_USAGES.values())}
    flags["encipher_only"] &= agreed
    flags["decipher_only"] &= agreed
    return x509.KeyUsage(**flags)


def _extended_usage(usages: Iterable[str]) -> x509.ExtendedKeyUsage | None:
    listed = list(usages)
    unknown = [usage for usage in listed if usage not in _KEY_USAGES and usage not in _EXTENDED_USAGES]
    if unknown:
        raise ValueError(f"unrecognized usage values: {unknown}")
    extended_usages = list(dict.fromkeys(_EXTENDED_USAGES[usage] for usage in listed if usage in _EXTENDED_USAGES))
    return x509.ExtendedKeyUsage(extended_usages) if extended_usages else None


def _texts(name: x509.Name, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in name.get_attributes_for_oid(oid)]
