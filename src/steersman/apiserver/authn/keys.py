"""Keys of signed tokens, read from PEM files and JSON Web Keys; signatures by joserfc (``docs/decisions/0009-jose.md``).

Loads ``cryptography`` and ``joserfc``: import it when needed.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from typing import Any, Final

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509 import load_pem_x509_certificate
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from steersman.apiserver.authn.jws import TOKEN_BYTES_MAX

_RSA_BITS: Final = 2048
_RSA_BITS_MIN: Final = 1024
_RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
#: Curve → algorithm.
_CURVE_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_LOADED_MAX: Final = 8
_PEM_BLOCK: Final = re.compile(rb"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)

_PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
_PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class KeyFileError(ValueError):
    """Unusable key file; the text is the reason."""


class _Registry(jws.JWSRegistry):
    """Registry of one algorithm, for tokens up to ``TOKEN_BYTES_MAX`` and with any header parameters."""

    max_header_length = TOKEN_BYTES_MAX
    max_signature_length = TOKEN_BYTES_MAX

    def __init__(self, algorithm: str) -> None:
        super().__init__(algorithms=[algorithm], strict_check_header=False)


class PublicKey:
    """``VerifyingKey`` of joserfc."""

    def __init__(self, key: _PublicKey, *, kid: str = "", algorithm: str = "RS256") -> None:
        """``algorithm`` applies to RSA keys; a curve has only one. Raises ``KeyFileError``."""
        self._jwk: Final = _as_jwk(key)
        self.kid = kid or _key_id(key)
        self.algorithm = algorithm if isinstance(key, rsa.RSAPublicKey) else _curve_algorithm(key)
        self._registry: Final = _Registry(self.algorithm)

    def verified_claims(self, token: str) -> dict[str, Any] | None:
        """Return the claims of a token that this key signed with its own algorithm, None for any other text."""
        try:
            verified = jws.deserialize_compact(token, self._jwk, registry=self._registry)
            if "crit" in verified.headers():  # critical extensions, none of which is supported
                return None
            return msgspec.json.decode(verified.payload, type=dict[str, Any])
        except (JoseError, ValueError, RecursionError, msgspec.MsgspecError):
            return None

    def jwk(self) -> dict[str, Any]:
        """Return the public key as a JSON Web Key (RFC 7517)."""
        return dict(self._jwk.as_dict(private=False, use="sig", kid=self.kid, alg=self.algorithm))


class PrivateKey(PublicKey):
    """``SigningKey`` of joserfc."""

    def __init__(self, key: _PrivateKey, *, algorithm: str = "RS256") -> None:
        super().__init__(key.public_key(), algorithm=algorithm)
        self._private: Final = key
        self._signing: Final = _as_jwk(key)

    def sign(self, claims: dict[str, Any]) -> str:
        """Return a signed token with these claims."""
        header = {"alg": self.algorithm, "kid": self.kid}
        return jws.serialize_compact(header, msgspec.json.encode(claims), self._signing, registry=self._registry)

    def pem(self) -> bytes:
        """Return the private key as PEM (PKCS #8)."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def public_pem(self) -> bytes:
        """Return the public key as PEM."""
        return self._private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def new_private_key() -> PrivateKey:
    """Return a new RSA key. Takes up to a few tenths of a second."""
    return PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS))


def read_private_key(pem: bytes) -> PrivateKey:
    """Return the private key of a PEM file. Raises ``KeyFileError``."""
    return PrivateKey(_load_private(pem.strip()))  # as ``read_public_keys`` reads the block: loaded once for both


def read_public_keys(pem: bytes) -> list[PublicKey]:
    """Return all public keys of a PEM file, also those of its private keys and certificates. Raises ``KeyFileError``."""
    keys = [PublicKey(_load_public(block)) for block in _PEM_BLOCK.findall(pem)]
    if not keys:
        raise KeyFileError("there is no PEM block in it")
    return keys


def read_der_public_key(der: bytes, kid: str) -> PublicKey:
    """Return a public key in PKIX form. Raises ``KeyFileError``."""
    try:
        key = load_der_public_key(der)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"no public key can be read: {error}") from None
    if isinstance(key, (rsa.RSAPublicKey, ec.EllipticCurvePublicKey)):
        return PublicKey(key, kid=kid)
    raise KeyFileError("neither an RSA nor an ECDSA key")


def read_jwk(jwk: dict[str, Any]) -> list[PublicKey]:
    """Return a JSON Web Key that verifies signatures, once for each algorithm it may be used with; empty for others."""
    kid, algorithm = str(jwk.get("kid") or ""), jwk.get("alg")
    if jwk.get("use") not in (None, "sig"):
        return []
    try:
        key = _key_of_jwk(jwk)
        if isinstance(key, ec.EllipticCurvePublicKey):
            return [PublicKey(key, kid=kid)]
        names = [name for name in _RSA_ALGORITHMS if algorithm in (None, name)]
        return [PublicKey(key, kid=kid, algorithm=name) for name in names]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []


def _key_of_jwk(jwk: dict[str, Any]) -> _PublicKey:
    bindings = {"RSA": RSAKey.binding, "EC": ECKey.binding}
    key: _PublicKey = bindings[jwk["kty"]].import_public_key(jwk)
    return key


def _as_jwk(key: _PublicKey | _PrivateKey) -> RSAKey | ECKey:
    """Convert to a joserfc key. ``import_key`` would warn about RSA keys shorter than 2,048 bits."""
    if isinstance(key, (rsa.RSAPublicKey, rsa.RSAPrivateKey)):
        if key.key_size < _RSA_BITS_MIN:
            raise KeyFileError(f"an RSA key needs at least {_RSA_BITS_MIN} bits")
        return RSAKey(key, key)
    if key.curve.name not in _CURVE_ALGORITHMS:
        raise KeyFileError(f"the curve {key.curve.name} is not supported")
    return ECKey(key, key)


def _curve_algorithm(key: ec.EllipticCurvePublicKey) -> str:
    return _CURVE_ALGORITHMS[key.curve.name]


def _key_id(key: _PublicKey) -> str:
    """Return the hash of the public key. Upstream: ``keyIDFromPublicKey`` of pkg/serviceaccount/jwt.go."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()


@lru_cache(maxsize=_LOADED_MAX)
def _load_private(pem: bytes) -> _PrivateKey:
    """Return the key of a PEM block. Cached: OpenSSL verifies an RSA key for tenths of a second, and a start reads it often."""
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"no private key can be read: {error}") from None
    if isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey)):
        return key
    raise KeyFileError("neither an RSA nor an ECDSA key")


def _load_public(block: bytes) -> _PublicKey:
    try:
        if b"PRIVATE KEY" in block:
            return _load_private(block).public_key()
        key = load_pem_x509_certificate(block).public_key() if b"CERTIFICATE" in block else load_pem_public_key(block)
    except KeyFileError:
        raise
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"no public key can be read: {error}") from None
    if isinstance(key, (rsa.RSAPublicKey, ec.EllipticCurvePublicKey)):
        return key
    raise KeyFileError("neither an RSA nor an ECDSA key")
