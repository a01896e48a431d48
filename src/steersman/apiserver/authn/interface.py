"""Interfaces of authenticators, and names of built-in users and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.http import Request

ANONYMOUS: Final = "system:anonymous"
AUTHENTICATED_GROUP: Final = "system:authenticated"
UNAUTHENTICATED_GROUP: Final = "system:unauthenticated"
#: Members are authorized for everything.
MASTERS_GROUP: Final = "system:masters"

ANONYMOUS_USER: Final = UserInfo(ANONYMOUS, (UNAUTHENTICATED_GROUP,))


class InvalidCredentials(Exception):  # noqa: N818 — as upstream's message says
    """Credentials of this kind are present but invalid."""


class RequestAuthenticator(Protocol):
    """Authenticator of requests. Upstream: ``authenticator.Request``."""

    async def authenticate(self, request: Request) -> UserInfo | None:
        """Return the user; None without credentials of this kind. Raises ``InvalidCredentials``."""


class ServerAuthenticator(RequestAuthenticator, Protocol):
    """Authenticator of all requests of a server."""

    def authenticate_cached(self, request: Request) -> UserInfo | None:
        """Return the user of cached credentials that are still valid; None: call ``authenticate``."""


class StoredState(Protocol):
    """State of a stored object."""

    def is_current(self) -> bool:
        """Report whether the object exists and has not been written since."""


class VerifiedUser:
    """User of a verified token: valid for a bounded time, while no object that the token is bound to is written."""

    __slots__ = ("_bound", "_until", "_user")

    def __init__(self, user: UserInfo, bound: tuple[StoredState, ...], *, until: float) -> None:
        """``until``: monotonic seconds of the clock."""
        self._user: Final = user
        self._bound: Final = bound
        self._until: Final = until

    def is_expired(self, now: float) -> bool:
        """Report whether the time has expired."""
        return now >= self._until

    def at(self, now: float) -> UserInfo | None:
        """Return the user; None if the token must be verified again."""
        if now >= self._until:
            return None
        for state in self._bound:
            if not state.is_current():
                return None
        return self._user


class Reviewed(msgspec.Struct, frozen=True):
    """User and audiences of a reviewed token."""

    user: UserInfo
    audiences: tuple[str, ...]


class TokenAuthenticator(Protocol):
    """Authenticator of one kind of bearer tokens. Upstream: ``authenticator.Token``."""

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the user; None for other kinds of tokens. Raises ``InvalidCredentials``."""

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Authenticate a token that must be valid for one of these audiences."""


async def review_for_server(
    authenticator: TokenAuthenticator, token: str, audiences: Sequence[str], *, own: Sequence[str]
) -> Reviewed | None:
    """Review a token of a kind without audiences, which is valid for the server's ``own`` audiences."""
    common = tuple(audience for audience in own if audience in audiences)
    user = await authenticator.authenticate_token(token) if common else None
    return None if user is None else Reviewed(user, common)


class SecretSource(Protocol):
    """Source of Secrets with tokens."""

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return a Secret, read-only; None if it does not exist."""


def with_authenticated_group(user: UserInfo) -> UserInfo:
    """Add ``system:authenticated`` to the groups, unless anonymous. Upstream: ``group.AuthenticatedGroupAdder``."""
    if user.name == ANONYMOUS or AUTHENTICATED_GROUP in user.groups or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return UserInfo(user.name, (*user.groups, AUTHENTICATED_GROUP), user.uid, user.extra)
