"""Bearer tokens from the ``Authorization`` header or a WebSocket subprotocol, passed to token authenticators."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final, Protocol

from steersman.apimachinery.field import join_messages
from steersman.apiserver.authn.audit_context import set_current_request
from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed, with_authenticated_group
from steersman.apiserver.websocket import TOKEN_PREFIX, is_websocket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apiserver.authn.interface import TokenAuthenticator, VerifiedUser
    from steersman.apiserver.http import Request
    from steersman.apiserver.request import UserInfo
    from steersman.asynckit.clock import Clock

#: Maximum number of cached headers with verified tokens; the oldest is evicted.
_VERIFIED_MAX: Final = 4096
#: Longer headers are not cached: clients may append anything after the token.
_HEADER_BYTES_MAX: Final = 4096
#: Error of a token that no authenticator recognizes.
UNKNOWN_TOKEN: Final = "invalid bearer token"  # noqa: S105 — a text


async def _authenticate(token: str, authenticators: Sequence[TokenAuthenticator]) -> UserInfo:
    """Return the user of the first authenticator that accepts the token, as a later one may accept what another rejects.

    Raises ``InvalidCredentials``.
    """
    errors: list[str] = []
    for authenticator in authenticators:
        try:
            user = await authenticator.authenticate_token(token)
        except InvalidCredentials as error:
            errors.append(str(error))
            continue
        if user is not None:
            return user
    raise InvalidCredentials(join_messages(errors) or UNKNOWN_TOKEN)


async def review_token(token: str, audiences: Sequence[str], authenticators: Sequence[TokenAuthenticator]) -> Reviewed:
    """Review a token for ``audiences``; return its user and audiences.

    Raises ``InvalidCredentials`` with the errors of all authenticators, after that of upstream's authenticator of loopback tokens.
    """
    errors = [UNKNOWN_TOKEN]
    for authenticator in authenticators:
        try:
            reviewed = await authenticator.review(token, audiences)
        except InvalidCredentials as error:
            errors.append(str(error))
            continue
        if reviewed is not None:
            return Reviewed(with_authenticated_group(reviewed.user), reviewed.audiences)
    raise InvalidCredentials(join_messages(errors))


class VerifiedTokens(Protocol):
    """Token authenticator whose results may be cached."""

    def verified(self, token: str) -> VerifiedUser | None:
        """Return the user of a token that ``authenticate_token`` has just accepted; None if it must not be cached."""


class BearerToken:
    """Authenticator of ``Authorization: Bearer <token>``. As upstream, other schemes are no credentials.

    Users of verified tokens are cached by the whole header, as hashing a token dominates the cost. Expired entries are
    evicted when another is added.
    """

    def __init__(
        self,
        authenticators: Sequence[TokenAuthenticator],
        *,
        clock: Clock,
        fixed_tokens: Mapping[str, UserInfo] | None = None,
        token_cache: VerifiedTokens | None = None,
    ) -> None:
        """``fixed_tokens``: tokens that one of the authenticators always accepts; ``token_cache``: the one whose
        results are cached.
        """
        self._authenticators = authenticators
        self._clock: Final = clock
        self._token_cache: Final = token_cache
        #: By header. Other spellings (case, spaces) are left to the authenticators.
        self._fixed: Final = {
            f"Bearer {token}".encode(): with_authenticated_group(user)
            for token, user in (fixed_tokens or {}).items()
            if token.isascii() and not any(map(str.isspace, token))
        }
        #: By header, oldest first.
        self._verified: Final[dict[bytes, VerifiedUser]] = {}

    def authenticate_cached(self, header: bytes) -> UserInfo | None:
        """Return the user of a fixed or cached token, in ``system:authenticated``; None: call ``authenticate``."""
        user = self._fixed.get(header)
        if user is not None:
            return user
        verified = self._verified.get(header)
        return None if verified is None else verified.at(self._clock.monotonic())

    async def authenticate(self, request: Request) -> UserInfo | None:
        """Return the user of the token. Raises ``InvalidCredentials`` if no authenticator accepts it."""
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
        set_current_request(request)
        user = await _authenticate(parts[1], self._authenticators)
        if self._token_cache is not None:
            self._cache(request.first_headers[b"authorization"], self._token_cache.verified(parts[1]))
        return user

    def _cache(self, header: bytes, user: VerifiedUser | None) -> None:
        table, now = self._verified, self._clock.monotonic()
        table.pop(header, None)
        if user is None or len(header) > _HEADER_BYTES_MAX:
            return
        while table and (next(iter(table.values())).is_expired(now) or len(table) >= _VERIFIED_MAX):
            del table[next(iter(table))]
        table[header] = user


class WebSocketToken:
    """Authenticator of the subprotocol ``base64url.bearer.authorization.k8s.io.<token>``, as browsers cannot set
    headers.
    """

    def __init__(self, authenticators: Sequence[TokenAuthenticator]) -> None:
        self._authenticators = authenticators

    async def authenticate(self, request: Request) -> UserInfo | None:
        """Return the user of the token. Raises ``InvalidCredentials``, also if no other subprotocol is offered."""
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
        set_current_request(request)
        return await _authenticate(token, self._authenticators)
