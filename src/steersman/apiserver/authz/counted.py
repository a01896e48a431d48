"""Authorizer that counts decisions. Upstream: ``metrics.InstrumentedAuthorizer`` of ``authorization/metrics``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.interface import NO_OPINION, Verdict

if TYPE_CHECKING:
    from steersman.apiserver.authz.interface import Authorizer, Decision
    from steersman.apiserver.request import RequestInfo, UserInfo


class CountedAuthorizer:
    """Authorizer that counts the requests that ``delegate`` allows or denies, without those it has no opinion about."""

    __slots__ = ("_delegate", "allowed", "denied", "mode", "name")

    def __init__(self, mode: str, delegate: Authorizer, *, name: str = "") -> None:
        """``mode``: value of ``--authorization-mode``. ``name``: of several authorizers of one mode."""
        self.mode: Final = mode
        self.name: Final = name or mode.lower()
        self._delegate: Final = delegate
        self.allowed = 0
        self.denied = 0

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return the decision of the delegate."""
        decision = self._delegate.authorize(user, info)
        if decision is not NO_OPINION:
            if decision.allowed:
                self.allowed += 1
            elif decision.verdict is Verdict.DENY:
                self.denied += 1
        return decision
