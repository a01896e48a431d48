"""Claims of service account tokens. Upstream: ``pkg/serviceaccount/claims.go``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ref(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reference to an object by name and UID."""

    name: str = ""
    uid: str = ""


class Bound(msgspec.Struct, frozen=True, omit_defaults=True):
    """Claim ``kubernetes.io``: the service account, and the objects that the token is bound to."""

    namespace: str = ""
    serviceaccount: Ref = Ref()
    pod: Ref | None = None
    secret: Ref | None = None
    node: Ref | None = None
    #: Time from which use of the token causes a warning: clients should have refreshed it.
    warnafter: int | None = None


class AccountClaims(msgspec.Struct, frozen=True, rename={"bound": "kubernetes.io"}):
    """Claims of a service account token."""

    iss: str = ""
    sub: str = ""
    aud: str | list[str] = []
    #: Seconds since 1970.
    exp: float | None = None
    nbf: float | None = None
    iat: float | None = None
    jti: str = ""
    bound: Bound = Bound()

    @property
    def audiences(self) -> tuple[str, ...]:
        """Return ``aud``, a string or a list, as a list."""
        return (self.aud,) if isinstance(self.aud, str) else tuple(self.aud)


def read_claims(tree: dict[str, Any]) -> AccountClaims:
    """Decode the claims of a token. Raises ``msgspec.ValidationError``."""
    return msgspec.convert(tree, AccountClaims)


def new_claims(
    bound: Bound, *, issuer: str, audiences: Sequence[str], now_seconds: int, life_seconds: int, jti: str
) -> dict[str, Any]:
    """Return the claims of a new token."""
    return {
        "aud": list(audiences),
        "exp": now_seconds + life_seconds,
        "iat": now_seconds,
        "iss": issuer,
        "jti": jti,
        "kubernetes.io": msgspec.to_builtins(bound),
        "nbf": now_seconds,
        "sub": f"system:serviceaccount:{bound.namespace}:{bound.serviceaccount.name}",
    }
