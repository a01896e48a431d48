"""Signed bearer tokens (compact JWS, RFC 7515) before their signature is verified.

An authenticator reads here which issuer and key a token claims to be of, as upstream's ``hasCorrectIssuer`` does without
a JOSE library. ``keys`` verifies and makes signatures; only claims that come from there are authenticated.
"""

from __future__ import annotations

import base64
from typing import Any, Final, Protocol

import msgspec

#: Longer tokens are rejected unread.
TOKEN_BYTES_MAX: Final = 64 * 1024


class MalformedTokenError(ValueError):
    """The text is not a compact JWS with a JSON object as payload."""


class Header(msgspec.Struct, frozen=True):
    """The header parameters that select a key."""

    alg: str
    kid: str = ""


class UnverifiedToken(msgspec.Struct, frozen=True):
    """Header and claims of a token, neither of them authenticated."""

    header: Header
    claims: dict[str, Any]

    @property
    def issuer(self) -> Any:
        """The claim ``iss``, of any type."""
        return self.claims.get("iss")


class VerifyingKey(Protocol):
    """Public key that verifies tokens."""

    #: ``RS256``, ``ES256``, …
    algorithm: str
    #: Key ID that headers of tokens refer to.
    kid: str

    def verified_claims(self, token: str) -> dict[str, Any] | None:
        """Return the claims of a token that this key signed with its own algorithm, None for any other text."""


class SigningKey(VerifyingKey, Protocol):
    """Private key that signs tokens."""

    def sign(self, claims: dict[str, Any]) -> str:
        """Return a signed token with these claims."""


_decode_header: Final = msgspec.json.Decoder(Header).decode
_decode_claims: Final = msgspec.json.Decoder(dict[str, Any]).decode


def looks_signed(text: str) -> bool:
    """Report whether a bearer token has the three parts of a compact JWS."""
    return text.count(".") == 2


def read_unverified(text: str) -> UnverifiedToken:
    """Return the unverified header and claims of a token. Raises ``MalformedTokenError``."""
    if len(text) > TOKEN_BYTES_MAX:
        raise MalformedTokenError("the token is too long")
    try:
        header, claims, _ = (_unpack(part) for part in text.encode("ascii").split(b"."))
        return UnverifiedToken(_decode_header(header), _decode_claims(claims))
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise MalformedTokenError("the token is no signed JWT") from None


def _unpack(part: bytes) -> bytes:
    if b"=" in part or b"+" in part or b"/" in part:
        raise ValueError("not base64url without padding")
    return base64.b64decode(part + b"=" * (-len(part) % 4), altchars=b"-_", validate=True)
