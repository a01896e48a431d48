"""Warnings about certificate and key of TLS Secrets."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from steersman.apiserver.kinds.core.secret.tls_pair import tls_warnings

OTHER_BLOCK = b"-----BEGIN THING-----\nAAAA\n-----END THING-----\n"


def pem(key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certificate_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 7)
    builder = builder.not_valid_before(datetime(2026, 1, 1, tzinfo=UTC)).not_valid_after(
        datetime(2036, 1, 1, tzinfo=UTC)
    )
    return builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


KEY = ec.generate_private_key(ec.SECP256R1())
CERTIFICATE = certificate_of(KEY)
KEY_PEM = pem(KEY)


def warnings(certificate: bytes, key: bytes, kind: str = "kubernetes.io/tls") -> list[str]:
    pair = {"tls.crt": certificate, "tls.key": key}
    return tls_warnings({"type": kind, "data": {name: b64encode(part).decode() for name, part in pair.items()}})


def test_tls_warnings_is_empty_for_matching_pair():
    assert warnings(CERTIFICATE, KEY_PEM) == []


def test_tls_warnings_skips_blocks_before_certificate():
    assert warnings(OTHER_BLOCK + CERTIFICATE, KEY_PEM) == []


def test_tls_warnings_skips_other_types():
    assert warnings(b"", b"", "Opaque") == []


@pytest.mark.parametrize(
    ("certificate", "key", "warning"),
    [
        (b"", KEY_PEM, "tls: failed to find any PEM data in certificate input"),
        (CERTIFICATE, b"", "tls: failed to find any PEM data in key input"),
        (
            KEY_PEM,
            CERTIFICATE,
            (
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
                "PEM inputs may have been switched"
            ),
        ),
        (CERTIFICATE, CERTIFICATE, "tls: found a certificate rather than a key in the PEM for the private key"),
        (
            OTHER_BLOCK,
            KEY_PEM,
            (
                'tls: failed to find "CERTIFICATE" PEM block in certificate input '
                "after skipping PEM blocks of the following types: [THING]"
            ),
        ),
        (
            CERTIFICATE,
            OTHER_BLOCK,
            (
                'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input '
                "after skipping PEM blocks of the following types: [THING]"
            ),
        ),
        (CERTIFICATE, pem(ec.generate_private_key(ec.SECP256R1())), "tls: private key does not match public key"),
        (
            CERTIFICATE,
            pem(ed25519.Ed25519PrivateKey.generate()),
            "tls: private key type does not match public key type",
        ),
        (OTHER_BLOCK.replace(b"THING", b"CERTIFICATE"), KEY_PEM, "x509: malformed certificate"),
        (CERTIFICATE, OTHER_BLOCK.replace(b"THING", b"PRIVATE KEY"), "tls: failed to parse private key"),
    ],
)
def test_tls_warnings_have_texts_of_go(certificate: bytes, key: bytes, warning: str):
    assert warnings(certificate, key) == [warning]


def test_tls_warnings_skips_invalid_base64():
    secret = {"type": "kubernetes.io/tls", "data": {"tls.crt": "a", "tls.key": ""}}
    assert tls_warnings(secret) == ["tls: failed to find any PEM data in certificate input"]
