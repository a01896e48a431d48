"""Issuer of service account tokens."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from steersman.apiserver.authn.account_claims import new_claims

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from steersman.apiserver.authn.account_claims import Bound
    from steersman.apiserver.authn.jws import SigningKey


class SigningKeys(Protocol):
    """Source of the signing key."""

    async def signing(self) -> SigningKey:
        """Return the current signing key."""


class TokenIssuer:
    """Issuer of service account tokens for one issuer URL."""

    def __init__(
        self,
        keys: SigningKeys,
        *,
        issuer: str,
        audiences: Sequence[str],
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._keys: Final = keys
        self._issuer: Final = issuer
        #: Default audiences: those of this server.
        self.audiences: Final = tuple(audiences)
        self._randomness: Final = randomness

    async def issue(self, bound: Bound, *, audiences: Sequence[str], now: datetime, life_seconds: int) -> str:
        """Sign a new token. Runs in a thread, as signing takes a millisecond."""
        key = await self._keys.signing()
        claims = new_claims(
            bound,
            issuer=self._issuer,
            audiences=audiences,
            now_seconds=int(now.timestamp()),
            life_seconds=life_seconds,
            jti=str(UUID(bytes=self._randomness(16), version=4)),
        )
        return await asyncio.to_thread(key.sign, claims)
