"""Keys of signed tokens: RSA and elliptic curves, out of PEM files. Loads ``cryptography``: import it when needed."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509 import load_pem_x509_certificate

from steersman.apiserver.authn.jws import pack, unpack

_RSA_BITS: Final = 2048
_RSA_BITS_MIN: Final = 1024
#: Curve → algorithm, its hash, and how many bytes a coordinate has.
_CURVES: Final[dict[str, tuple[str, HashAlgorithm, int]]] = {
    "secp256r1": ("ES256", SHA256(), 32),
    "secp384r1": ("ES384", SHA384(), 48),
    "secp521r1": ("ES512", SHA512(), 66),
}
_PEM_BLOCK: Final = re.compile(rb"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)


class KeyFileError(ValueError):
    """A key file cannot be used; the text says why."""


#: What RSA keys can sign with: padding and hash.
_RSA_ALGORITHMS: Final[dict[str, tuple[bool, HashAlgorithm]]] = {
    "RS256": (False, SHA256()),
    "RS384": (False, SHA384()),
    "RS512": (False, SHA512()),
    "PS256": (True, SHA256()),
    "PS384": (True, SHA384()),
    "PS512": (True, SHA512()),
}


class PublicKey:
    """A ``VerifyingKey``."""

    def __init__(
        self, key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey, *, kid: str = "", algorithm: str = "RS256"
    ) -> None:
        """``algorithm`` is of RSA keys; a curve has just one."""
        self._key = key
        der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        #: As upstream names keys: the hash of what the key is.
        self.kid = kid or pack(hashlib.sha256(der).digest()).decode()
        self.algorithm = algorithm if isinstance(key, rsa.RSAPublicKey) else _curve(key)[0]

    def verifies(self, signed: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's."""
        key = self._key
        try:
            if isinstance(key, rsa.RSAPublicKey):
                key.verify(signature, signed, *_padding(self.algorithm))
                return True
            _, digest, size = _curve(key)
            if len(signature) != 2 * size:
                return False
            r, s = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
            key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(digest))
        except InvalidSignature:
            return False
        return True

    def jwk(self) -> dict[str, Any]:
        """As a JSON Web Key (RFC 7517)."""
        common = {"use": "sig", "kid": self.kid, "alg": self.algorithm}
        key = self._key
        if isinstance(key, rsa.RSAPublicKey):
            numbers = key.public_numbers()
            return {"kty": "RSA", **common, "n": _number(numbers.n), "e": _number(numbers.e)}
        point = key.public_numbers()
        size = _curve(key)[2]
        curve = {32: "P-256", 48: "P-384", 66: "P-521"}[size]
        return {"kty": "EC", **common, "crv": curve, "x": _number(point.x, size), "y": _number(point.y, size)}


class PrivateKey(PublicKey):
    """A ``SigningKey``."""

    def __init__(self, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
        super().__init__(key.public_key())
        self._private = key

    def sign(self, signed: bytes) -> bytes:
        """A signature of these bytes."""
        key = self._private
        if isinstance(key, rsa.RSAPrivateKey):
            return key.sign(signed, *_padding(self.algorithm))
        _, digest, size = _curve(key.public_key())
        r, s = decode_dss_signature(key.sign(signed, ec.ECDSA(digest)))
        return r.to_bytes(size) + s.to_bytes(size)

    def pem(self) -> bytes:
        """To be kept in a file."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def new_private_key() -> PrivateKey:
    """A new RSA key. Takes up to a few tenths of a second."""
    return PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS))


def read_private_key(pem: bytes) -> PrivateKey:
    """The key of a file. Raises ``KeyFileError``."""
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"no private key can be read: {error}") from None
    if isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        _check(key.public_key())
        return PrivateKey(key)
    raise KeyFileError("neither an RSA nor an ECDSA key")


def read_public_keys(pem: bytes) -> list[PublicKey]:
    """All public keys of a file; of private keys and certificates in it, theirs. Raises ``KeyFileError``."""
    keys = []
    for block in _PEM_BLOCK.findall(pem):
        try:
            key: object
            if b"PRIVATE KEY" in block:
                key = read_private_key(block)._key
            elif b"CERTIFICATE" in block:
                key = load_pem_x509_certificate(block).public_key()
            else:
                key = load_pem_public_key(block)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise KeyFileError(f"no public key can be read: {error}") from None
        if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey):
            raise KeyFileError("neither an RSA nor an ECDSA key")
        _check(key)
        keys.append(PublicKey(key))
    if not keys:
        raise KeyFileError("there is no PEM block in it")
    return keys


def read_jwk(jwk: dict[str, Any]) -> list[PublicKey]:
    """A JSON Web Key that verifies signatures, once for every algorithm that it may be used with; empty for others."""
    kid, said = str(jwk.get("kid") or ""), jwk.get("alg")
    if jwk.get("use") not in (None, "sig"):
        return []
    try:
        key = _of_jwk(jwk)
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
    if isinstance(key, ec.EllipticCurvePublicKey):
        return [PublicKey(key, kid=kid)]
    if key is None or key.key_size < _RSA_BITS_MIN:
        return []
    return [PublicKey(key, kid=kid, algorithm=name) for name in _RSA_ALGORITHMS if said in (None, name)]


def _of_jwk(jwk: dict[str, Any]) -> rsa.RSAPublicKey | ec.EllipticCurvePublicKey | None:
    def number(name: str) -> int:
        return int.from_bytes(unpack(jwk[name].encode()))

    if jwk.get("kty") == "RSA":
        return rsa.RSAPublicNumbers(number("e"), number("n")).public_key()
    curve = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}.get(jwk.get("crv", ""))
    if jwk.get("kty") != "EC" or curve is None:
        return None
    return ec.EllipticCurvePublicNumbers(number("x"), number("y"), curve).public_key()


def _padding(algorithm: str) -> tuple[padding.AsymmetricPadding, HashAlgorithm]:
    is_pss, digest = _RSA_ALGORITHMS[algorithm]
    return (padding.PSS(padding.MGF1(digest), padding.PSS.DIGEST_LENGTH) if is_pss else padding.PKCS1v15()), digest


def _check(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> None:
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _RSA_BITS_MIN:
            raise KeyFileError(f"an RSA key needs {_RSA_BITS_MIN} bits at least")
    else:
        _curve(key)


def _curve(key: ec.EllipticCurvePublicKey) -> tuple[str, HashAlgorithm, int]:
    found = _CURVES.get(key.curve.name)
    if found is None:
        raise KeyFileError(f"the curve {key.curve.name} is not supported")
    return found


def _number(value: int, size: int = 0) -> str:
    return pack(value.to_bytes(size or (value.bit_length() + 7) // 8)).decode()
