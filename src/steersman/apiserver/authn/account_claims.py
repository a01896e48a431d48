"""What a service account's token says: its claims, as upstream's ``pkg/serviceaccount/claims.go`` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ref(msgspec.Struct, frozen=True, omit_defaults=True):
    """One object, by name and uid."""

    name: str = ""
    uid: str = ""


class Bound(msgspec.Struct, frozen=True, omit_defaults=True):
    """The claim ``kubernetes.io``: whose the token is, and what it goes with."""

    namespace: str = ""
    serviceaccount: Ref = Ref()
    pod: Ref | None = None
    secret: Ref | None = None
    node: Ref | None = None
    #: From then on its use is worth a warning: its bearer should have asked for a new one.
    warnafter: int | None = None


class AccountClaims(msgspec.Struct, frozen=True, rename={"bound": "kubernetes.io"}):
    """All claims of a token."""

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
        """``aud``, which is one or many."""
        return (self.aud,) if isinstance(self.aud, str) else tuple(self.aud)


def read_claims(tree: dict[str, Any]) -> AccountClaims:
    """The claims of a token. Raises ``msgspec.ValidationError``."""
    return msgspec.convert(tree, AccountClaims)


def new_claims(
    bound: Bound, *, issuer: str, audiences: Sequence[str], now_seconds: int, life_seconds: int, jti: str
) -> dict[str, Any]:
    """The claims of a new token."""
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
