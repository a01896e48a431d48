"""Issuer of service account tokens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from steersman.apiserver.authn.account_claims import new_claims

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from steersman.apiserver.authn.account_claims import Bound


class SigningError(Exception):
    """The token cannot be signed."""


class Signer(Protocol):
    """Signer of tokens."""

    async def sign(self, claims: dict[str, Any]) -> str:
        """Return a signed token with these claims. Raises ``SigningError``."""


class TokenIssuer:
    """Issuer of service account tokens for one issuer URL."""

    def __init__(
        self,
        signer: Signer,
        *,
        issuer: str,
        audiences: Sequence[str],
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._signer: Final = signer
        self._issuer: Final = issuer
        #: Default audiences: those of this server.
        self.audiences: Final = tuple(audiences)
        self._randomness: Final = randomness

    async def issue(self, bound: Bound, *, audiences: Sequence[str], now: datetime, life_seconds: int) -> str:
        """Return a new signed token. Raises ``SigningError``."""
        claims = new_claims(
            bound,
            issuer=self._issuer,
            audiences=audiences,
            now_seconds=int(now.timestamp()),
            life_seconds=life_seconds,
            jti=str(UUID(bytes=self._randomness(16), version=4)),
        )
        return await self._signer.sign(claims)
