"""Keys as JSON Web Keys (RFC 7517). Loads ``cryptography``: import it when a key is needed."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

#: Curve → its name and algorithm in JOSE.
_CURVES: Final = {"secp256r1": ("P-256", "ES256"), "secp384r1": ("P-384", "ES384"), "secp521r1": ("P-521", "ES512")}


def new_rsa_key() -> bytes:
    """A private key, PEM; 2048 bits, as kubeadm makes them."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def from_pem(pem: bytes) -> dict[str, Any]:
    """The public key in a PEM file that holds it or its private key. Raises ValueError for other kinds of keys."""
    public = (
        load_pem_private_key(pem, password=None).public_key() if b"PRIVATE KEY" in pem else load_pem_public_key(pem)
    )
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    # Named by its hash, as kube-apiserver does, so that it is known again whoever serves it.
    base = {"use": "sig", "kid": _text(hashlib.sha256(der).digest())}
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        return {**base, "kty": "RSA", "alg": "RS256", "n": _number(numbers.n), "e": _number(numbers.e)}
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES:
        curve, algorithm = _CURVES[public.curve.name]
        size = (public.curve.key_size + 7) // 8
        point = public.public_numbers()
        x, y = (_text(number.to_bytes(size)) for number in (point.x, point.y))
        return {**base, "kty": "EC", "alg": algorithm, "crv": curve, "x": x, "y": y}
    raise ValueError("only RSA and ECDSA keys can sign service account tokens")


def _number(number: int) -> str:
    return _text(number.to_bytes((number.bit_length() + 7) // 8))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
