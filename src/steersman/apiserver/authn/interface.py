"""What an authenticator is, and the names that Kubernetes gives to users and groups of its own."""

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
#: May do everything, whatever the authorizer says.
MASTERS_GROUP: Final = "system:masters"

ANONYMOUS_USER: Final = UserInfo(ANONYMOUS, (UNAUTHENTICATED_GROUP,))


class InvalidCredentials(Exception):  # noqa: N818 — as upstream's message says
    """There are credentials of this kind, and they are no good."""


class RequestAuthenticator(Protocol):
    """Finds out who asks."""

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The caller; None without credentials of this kind. Raises ``InvalidCredentials``."""


class ServerAuthenticator(RequestAuthenticator, Protocol):
    """The authenticator of all requests of a server."""

    def at_once(self, request: Request) -> UserInfo | None:
        """Return the caller where its credentials were verified before and still hold; None: ask ``authenticate``."""


class StoredState(Protocol):
    """State of a stored object."""

    def is_current(self) -> bool:
        """Report whether the object exists and has not been written since."""


class VerifiedUser:
    """A caller whose token was verified: valid for a bounded time, while no object that the token is bound to is written."""

    __slots__ = ("_bound", "_until", "_user")

    def __init__(self, user: UserInfo, bound: tuple[StoredState, ...], *, until: float) -> None:
        """``until``: in the clock's monotonic seconds."""
        self._user: Final = user
        self._bound: Final = bound
        self._until: Final = until

    def is_expired(self, now: float) -> bool:
        """Report whether its time is over."""
        return now >= self._until

    def at(self, now: float) -> UserInfo | None:
        """Return the user; None where the token has to be checked again."""
        if now >= self._until:
            return None
        for state in self._bound:
            if not state.is_current():
                return None
        return self._user


class Reviewed(msgspec.Struct, frozen=True):
    """Whose a token is, and for which of the audiences asked about."""

    user: UserInfo
    audiences: tuple[str, ...]


class TokenAuthenticator(Protocol):
    """Knows bearer tokens of one kind."""

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """The token's bearer; None for a token of another kind. Raises ``InvalidCredentials``."""

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """As ``authenticate_token``, of a token that must be meant for one of these audiences."""


async def review_for_server(
    authenticator: TokenAuthenticator, token: str, audiences: Sequence[str], *, own: Sequence[str]
) -> Reviewed | None:
    """``TokenAuthenticator.review`` of tokens that name no audience: they are for this server, by its ``own`` ones."""
    common = tuple(audience for audience in own if audience in audiences)
    user = await authenticator.authenticate_token(token) if common else None
    return None if user is None else Reviewed(user, common)


class SecretSource(Protocol):
    """Where authenticators find Secrets that hold tokens."""

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """The Secret's tree, not to be changed; None when there is none."""


def with_authenticated_group(user: UserInfo) -> UserInfo:
    """As upstream's ``group.AuthenticatedGroupAdder``: not for the anonymous, and not twice."""
    if user.name == ANONYMOUS or AUTHENTICATED_GROUP in user.groups or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return UserInfo(user.name, (*user.groups, AUTHENTICATED_GROUP), user.uid, user.extra)
