"""All ways to say who one is, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.authn.interface import ANONYMOUS_USER, InvalidCredentials, with_authenticated_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authn.bearer import BearerToken
    from steersman.apiserver.authn.client_certificate import ClientCertificate
    from steersman.apiserver.authn.interface import RequestAuthenticator
    from steersman.apiserver.http import Request
    from steersman.apiserver.request import UserInfo

#: Bound of the table of users with their group added; it is emptied when full.
_KNOWN_MAX = 4096
_NOTHING: dict[str, Any] = {}


class Union:
    """The first authenticator that knows the caller decides; a failure counts only when no other knows the caller."""

    def __init__(
        self,
        authenticators: Sequence[RequestAuthenticator],
        *,
        anonymous: bool,
        certificates: ClientCertificate | None = None,
        bearer_tokens: BearerToken | None = None,
    ) -> None:
        """``certificates`` and ``bearer_tokens``: the first two authenticators, as ``at_once`` asks them."""
        self._authenticators = authenticators
        self._anonymous = anonymous
        self._certificates = certificates
        self._bearer_tokens = bearer_tokens
        #: By identity, as authenticators that keep tables hand out the same object; the value keeps its key alive.
        self._known: dict[int, tuple[UserInfo, UserInfo]] = {}

    def at_once(self, request: Request) -> UserInfo | None:
        """Return the caller where its credentials were verified before and still hold. A certificate goes before a token."""
        tls = request.scope.get("extensions", _NOTHING).get("tls")
        if tls and tls["client_cert_chain"]:
            return None if self._certificates is None else self._certificates.at_once(tls)
        header = request.first_headers.get(b"authorization")
        if header is None or self._bearer_tokens is None:
            return None
        return self._bearer_tokens.at_once(header)

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The caller, or ``system:anonymous`` where that is allowed, or None. Raises ``InvalidCredentials``."""
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
        return ANONYMOUS_USER if self._anonymous else None

    def _with_group(self, user: UserInfo) -> UserInfo:
        known = self._known.get(id(user))
        if known is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[id(user)] = (user, with_authenticated_group(user))
        return known[1]
