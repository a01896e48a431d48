"""Bearer tokens: out of the ``Authorization`` header, or a websocket's subprotocol, to whoever knows them."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed, with_authenticated_group
from steersman.apiserver.authn.notes import note_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authn.interface import TokenAuthenticator
    from steersman.apiserver.http import Request
    from steersman.apiserver.request import UserInfo

_PROTOCOL_PREFIX = "base64url.bearer.authorization.k8s.io."


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


class BearerToken:
    """``Authorization: Bearer <token>``. Another scheme is no credential at all, as upstream has it."""

    def __init__(self, authenticators: Sequence[TokenAuthenticator]) -> None:
        self._authenticators = authenticators

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
        return await _ask(parts[1], self._authenticators)


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
        tokens = [name.removeprefix(_PROTOCOL_PREFIX) for name in protocols if name.startswith(_PROTOCOL_PREFIX)]
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


def is_websocket(request: Request) -> bool:
    """Whether the client asks to go on as a websocket."""
    if request.header(b"upgrade").lower() != "websocket":
        return False
    words = ",".join(request.header_all(b"connection")).lower()
    return "upgrade" in {word.strip() for word in words.split(",")}
