"""Making tokens of service accounts."""

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
    """Has the key to sign with."""

    async def signing(self) -> SigningKey:
        """The key."""


class TokenIssuer:
    """Signs tokens as one issuer."""

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
        #: What this server is called; tokens are for it unless others are asked for.
        self.audiences: Final = tuple(audiences)
        self._randomness: Final = randomness

    async def issue(self, bound: Bound, *, audiences: Sequence[str], now: datetime, life_seconds: int) -> str:
        """A new token. Signing takes a millisecond, so it is done in a thread."""
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
