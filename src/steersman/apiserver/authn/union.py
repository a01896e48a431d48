"""Union of authenticators. Upstream: ``authentication/request/union``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.authn.interface import ANONYMOUS_USER, InvalidCredentials, with_authenticated_group

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from steersman.apiserver.authn.bearer import BearerToken
    from steersman.apiserver.authn.client_certificate import ClientCertificate
    from steersman.apiserver.authn.interface import RequestAuthenticator
    from steersman.apiserver.http import Request
    from steersman.apiserver.request import UserInfo

#: Maximum number of cached users with added group; the cache is cleared when full.
_CACHED_USERS_MAX = 4096
_NOTHING: dict[str, Any] = {}


class Union:
    """Authenticators in order: the first user wins; an error counts only if no later authenticator returns a user."""

    def __init__(
        self,
        authenticators: Sequence[RequestAuthenticator],
        *,
        anonymous: bool,
        anonymous_paths: Collection[str] = (),
        certificates: ClientCertificate | None = None,
        bearer_tokens: BearerToken | None = None,
    ) -> None:
        """``anonymous_paths``: the only paths of anonymous requests; empty: all. ``certificates`` and ``bearer_tokens``: the two
        authenticators with caches, which are also in the list.
        """
        self._authenticators = authenticators
        self._anonymous = anonymous
        self._anonymous_paths = frozenset(anonymous_paths)
        self._certificates = certificates
        self._bearer_tokens = bearer_tokens
        #: By identity, as authenticators with caches return the same object; the value keeps its key alive.
        self._cached_users: dict[int, tuple[UserInfo, UserInfo]] = {}

    def authenticate_cached(self, request: Request) -> UserInfo | None:
        """Return the user of cached credentials that are still valid; certificates precede tokens."""
        tls = request.scope.get("extensions", _NOTHING).get("tls")
        if tls and tls["client_cert_chain"]:
            return None if self._certificates is None else self._certificates.authenticate_cached(tls)
        header = request.first_headers.get(b"authorization")
        if header is None or self._bearer_tokens is None:
            return None
        return self._bearer_tokens.authenticate_cached(header)

    async def authenticate(self, request: Request) -> UserInfo | None:
        """Return the user, ``system:anonymous`` if allowed, or None. Raises ``InvalidCredentials``."""
        failure: InvalidCredentials | None = None
        for authenticator in self._authenticators:
            try:
                user = await authenticator.authenticate(request)
            except InvalidCredentials as error:
                failure = failure or error
                continue
            if user is not None:
                return self._with_group(user)
        if failure is not None:
            raise failure
        if not self._anonymous or (self._anonymous_paths and request.path not in self._anonymous_paths):
            return None
        return ANONYMOUS_USER

    def _with_group(self, user: UserInfo) -> UserInfo:
        cached = self._cached_users.get(id(user))
        if cached is None:
            if len(self._cached_users) >= _CACHED_USERS_MAX:
                self._cached_users.clear()
            cached = self._cached_users[id(user)] = (user, with_authenticated_group(user))
        return cached[1]
