"""Proxying for anonymous users, authorized as the subresource ``unsafeproxy``.

A page behind ``pods/proxy``, ``services/proxy`` or ``nodes/proxy`` shares the origin of the API server. Browsers send
no bearer token when they load a page, so a request without credentials may be such a page load: it needs a permission
of its own, which no bootstrap role grants and a rule about ``pods/proxy`` does not imply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn.interface import ANONYMOUS, UNAUTHENTICATED_GROUP
from steersman.apiserver.authz.interface import Decision

if TYPE_CHECKING:
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.request import RequestInfo, UserInfo

PROXY: Final = "proxy"
UNSAFE_PROXY: Final = "unsafeproxy"
_REASON: Final = f"{PROXY} subresource changed to {UNSAFE_PROXY}"


class UnsafeProxy:
    """Authorizer that authorizes ``proxy`` of anonymous users as ``unsafeproxy`` through ``delegate``."""

    def __init__(self, delegate: Authorizer) -> None:
        self._delegate: Final = delegate

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return the delegate's decision; a refusal about a changed subresource names the change as a reason."""
        if info.subresource != PROXY or not _is_anonymous(user):
            return self._delegate.authorize(user, info)
        decision = self._delegate.authorize(user, info.changed(subresource=UNSAFE_PROXY))
        if decision.allowed:
            return decision
        reason = f"{decision.reason}, {_REASON}" if decision.reason else _REASON
        return Decision(decision.verdict, reason, decision.error)


def _is_anonymous(user: UserInfo) -> bool:
    return user.name == ANONYMOUS or UNAUTHENTICATED_GROUP in user.groups
