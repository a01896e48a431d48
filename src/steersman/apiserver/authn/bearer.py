"""Bearer tokens: out of the ``Authorization`` header, or a websocket's subprotocol, to whoever knows them."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final, Protocol

from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed, with_authenticated_group
from steersman.apiserver.authn.notes import note_for
from steersman.apiserver.websocket import TOKEN_PREFIX, is_websocket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apiserver.authn.interface import TokenAuthenticator, VerifiedUser
    from steersman.apiserver.http import Request
    from steersman.apiserver.request import UserInfo
    from steersman.asynckit.clock import Clock

#: Bound of the headers whose tokens were verified; the oldest is forgotten for another.
_VERIFIED_MAX: Final = 4096
#: Longer headers are not kept: after the token a client may write what it likes.
_HEADER_BYTES_MAX: Final = 4096


async def _ask(token: str, authenticators: Sequence[TokenAuthenticator]) -> UserInfo:
    for authenticator in authenticators:
        user = await authenticator.authenticate_token(token)
        if user is not None:
            return user
    raise InvalidCredentials("invalid bearer token")


async def review_token(token: str, audiences: Sequence[str], authenticators: Sequence[TokenAuthenticator]) -> Reviewed:
    """Whose a token is that must be meant for one of ``audiences``. Raises ``InvalidCredentials``."""
    for authenticator in authenticators:
        reviewed = await authenticator.review(token, audiences)
        if reviewed is not None:
            return Reviewed(with_authenticated_group(reviewed.user), reviewed.audiences)
    raise InvalidCredentials("invalid bearer token")


class VerifiedTokens(Protocol):
    """A token authenticator whose answers hold for a time."""

    def verified(self, token: str) -> VerifiedUser | None:
        """Return the bearer of a token that ``authenticate_token`` has just accepted; None: it is to be asked each time."""


class BearerToken:
    """``Authorization: Bearer <token>``. Another scheme is no credential at all, as upstream has it.

    Callers of verified tokens are kept by the whole header: to hash a token takes longer than everything else about it.
    Headers whose time is over are forgotten when another is kept.
    """

    def __init__(
        self,
        authenticators: Sequence[TokenAuthenticator],
        *,
        clock: Clock,
        fixed_tokens: Mapping[str, UserInfo] | None = None,
        remembering: VerifiedTokens | None = None,
    ) -> None:
        """``fixed_tokens`` are those that one of the authenticators accepts for good, ``remembering`` is one of them."""
        self._authenticators = authenticators
        self._clock: Final = clock
        self._remembering: Final = remembering
        #: By the header. Other ways to write it (another case, more spaces) are left to the authenticators.
        self._fixed: Final = {
            f"Bearer {token}".encode(): with_authenticated_group(user)
            for token, user in (fixed_tokens or {}).items()
            if token.isascii() and not any(map(str.isspace, token))
        }
        #: By the header, oldest first.
        self._verified: Final[dict[bytes, VerifiedUser]] = {}

    def at_once(self, header: bytes) -> UserInfo | None:
        """Return the bearer of a fixed or verified token, in ``system:authenticated``; None: ask ``authenticate``."""
        user = self._fixed.get(header)
        if user is not None:
            return user
        verified = self._verified.get(header)
        return None if verified is None else verified.at(self._clock.monotonic())

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The token's bearer. Raises ``InvalidCredentials`` for a token that nobody knows."""
        header = request.header(b"authorization").strip()
        if not header:
            return None
        parts = header.split(" ", 2)
        if len(parts) < 2 or parts[0].lower() != "bearer":
            return None
        if not parts[1]:
            if len(parts) == 3:
                request.warnings.add(
                    "the provided Authorization header contains extra space before the bearer token, and is ignored"
                )
            return None
        note_for(request)
        user = await _ask(parts[1], self._authenticators)
        if self._remembering is not None:
            self._remember(request.first_headers[b"authorization"], self._remembering.verified(parts[1]))
        return user

    def _remember(self, header: bytes, user: VerifiedUser | None) -> None:
        table, now = self._verified, self._clock.monotonic()
        table.pop(header, None)
        if user is None or len(header) > _HEADER_BYTES_MAX:
            return
        while table and (next(iter(table.values())).is_expired(now) or len(table) >= _VERIFIED_MAX):
            del table[next(iter(table))]
        table[header] = user


class WebSocketToken:
    """A subprotocol ``base64url.bearer.authorization.k8s.io.<token>``, for browsers, which cannot set headers."""

    def __init__(self, authenticators: Sequence[TokenAuthenticator]) -> None:
        self._authenticators = authenticators

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The token's bearer. Raises ``InvalidCredentials``, also when no other subprotocol is offered."""
        offered = request.header_all(b"sec-websocket-protocol")
        if not offered or not is_websocket(request):
            return None
        protocols = [name.strip() for value in offered for name in value.split(",")]
        tokens = [name.removeprefix(TOKEN_PREFIX) for name in protocols if name.startswith(TOKEN_PREFIX)]
        if not tokens:
            return None
        if len(tokens) > 1:
            raise InvalidCredentials("multiple tokens in the websocket protocol")
        if len(protocols) == 1:
            raise InvalidCredentials("missing additional subprotocol beside the token")
        try:
            token = base64.urlsafe_b64decode(tokens[0] + "=" * (-len(tokens[0]) % 4)).decode()
        except (binascii.Error, ValueError):
            raise InvalidCredentials("invalid token in the websocket protocol") from None
        note_for(request)
        return await _ask(token, self._authenticators)
