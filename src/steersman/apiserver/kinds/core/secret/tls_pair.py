"""Warnings about certificate and key of TLS Secrets that do not match."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import to_value_text
from steersman.apimachinery.pem import pem_blocks

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_CERTIFICATE: Final = "CERTIFICATE"
_KEY: Final = "PRIVATE KEY"


def tls_warnings(secret: Tree) -> list[str]:
    """Yield a warning if the pair of a ``kubernetes.io/tls`` Secret is unusable, with the texts of Go's
    ``tls.X509KeyPair``.
    """
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data = secret.get("data") or {}
    fault = _fault(_decoded(data.get("tls.crt")), _decoded(data.get("tls.key")))
    return [fault] if fault else []


def _decoded(text: str | None) -> bytes:
    try:
        return b64decode(text or "")
    except NoBase64:
        return b""


def _fault(certificate: bytes, key: bytes) -> str:
    chain, fault = _certificate_block(certificate)
    if chain is None:
        return fault
    private, fault = _key_block(key)
    if private is None:
        return fault
    return _pair_fault(chain, private)


def _blocks(pem: bytes) -> list[tuple[str, bytes]]:
    return [(block.type, block.text) for block in pem_blocks(pem)]


def _certificate_block(pem: bytes) -> tuple[bytes | None, str]:
    """Return the first certificate, or the error text if there is none."""
    kinds: list[str] = []
    for kind, block in _blocks(pem):
        if kind == _CERTIFICATE:
            return block, ""
        kinds.append(kind)
    if not kinds:
        return None, "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith(_KEY):
        return None, (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
            "have been switched"
        )
    return None, (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
        f"types: {to_value_text(kinds)}"
    )


def _key_block(pem: bytes) -> tuple[bytes | None, str]:
    """Return the first private key, or the error text if there is none."""
    kinds: list[str] = []
    for kind, block in _blocks(pem):
        if kind == _KEY or kind.endswith(f" {_KEY}"):
            return block, ""
        kinds.append(kind)
    if not kinds:
        return None, "tls: failed to find any PEM data in key input"
    if kinds == [_CERTIFICATE]:
        return None, "tls: found a certificate rather than a key in the PEM for the private key"
    return None, (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
        f"following types: {to_value_text(kinds)}"
    )


def _pair_fault(certificate: bytes, key: bytes) -> str:
    from cryptography import x509  # noqa: PLC0415 — takes long to load, and few Secrets hold certificates
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )

    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
    except ValueError:
        return "x509: malformed certificate"
    try:
        private = load_pem_private_key(key, None)
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    own = private.public_key()
    if type(own) is not type(public):
        return "tls: private key type does not match public key type"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    same = own.public_bytes(*form) == public.public_bytes(*form)
    return "" if same else "tls: private key does not match public key"
