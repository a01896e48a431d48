"""Signed tokens: JWTs in the compact form of JWS (RFC 7515), as far as Kubernetes uses it.

Only the parts of a token are told apart here; whoever knows the key (``keys``) says whether the signature is right. The
algorithm is the key's own: what a token's header says of it has to match, so ``none`` is never one.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, Protocol

import msgspec

#: Longer tokens are refused unread.
TOKEN_BYTES_MAX: Final = 64 * 1024

_decode: Final = msgspec.json.Decoder().decode


class MalformedTokenError(ValueError):
    """The text is no compact JWS."""


class Header(msgspec.Struct, frozen=True):
    """What of a token's header matters."""

    alg: str
    kid: str = ""
    #: Extensions that must be understood; none is.
    crit: list[str] | None = None


class Token(msgspec.Struct, frozen=True):
    """A token taken apart. Nothing of it is to be trusted before its signature was verified."""

    header: Header
    claims: dict[str, Any]
    signed: bytes
    signature: bytes


class VerifyingKey(Protocol):
    """A public key that tokens are signed with."""

    #: ``RS256``, ``ES256``, …
    algorithm: str
    #: Names the key in headers.
    kid: str

    def verifies(self, signed: bytes, signature: bytes) -> bool:
        """Whether the private key made this signature of these bytes."""


class SigningKey(VerifyingKey, Protocol):
    """A private key."""

    def sign(self, signed: bytes) -> bytes:
        """A signature of these bytes."""


_decode_header: Final = msgspec.json.Decoder(Header).decode


def looks_signed(text: str) -> bool:
    """Whether a bearer token may be one of these at all."""
    return text.count(".") == 2


def parse(text: str) -> Token:
    """Take a token apart. Raises ``MalformedTokenError``."""
    if len(text) > TOKEN_BYTES_MAX:
        raise MalformedTokenError("the token is too long")
    try:
        head, body, signature = text.encode("ascii").split(b".")
        claims = _decode(unpack(body))
        header = _decode_header(unpack(head))
        if not isinstance(claims, dict) or header.crit:
            raise MalformedTokenError("the token's claims are no object, or its header has extensions")
        return Token(header, claims, head + b"." + body, unpack(signature))
    except (ValueError, msgspec.MsgspecError):
        raise MalformedTokenError("the token is no signed JWT") from None


def is_signed_by(token: Token, key: VerifyingKey) -> bool:
    """Whether the signature is right, of the key's own algorithm."""
    return token.header.alg == key.algorithm and key.verifies(token.signed, token.signature)


def make(claims: dict[str, Any], key: SigningKey) -> str:
    """A signed token."""
    header = msgspec.json.encode({"alg": key.algorithm, "kid": key.kid})
    signed = pack(header) + b"." + pack(msgspec.json.encode(claims))
    return (signed + b"." + pack(key.sign(signed))).decode("ascii")


def pack(raw: bytes) -> bytes:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def unpack(text: bytes) -> bytes:
    """Out of base64url without padding. Raises ``MalformedTokenError``."""
    if b"=" in text or b"+" in text or b"/" in text:
        raise MalformedTokenError("the token is no base64url")
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise MalformedTokenError("the token is no base64url") from None
