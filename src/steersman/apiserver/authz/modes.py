"""The bodies that need no stored rules: everything allowed, nothing allowed, and by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.authn.interface import AUTHENTICATED_GROUP, MASTERS_GROUP
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.request import RequestInfo, UserInfo

#: What upstream's default role ``system:public-info-viewer`` lets everybody read.
PUBLIC_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
#: What upstream's default role ``system:discovery`` lets every authenticated user read; below ``…/*`` everything.
_DISCOVERY_PATHS = frozenset({"/api", "/apis", "/openapi", *PUBLIC_PATHS})
_DISCOVERY_PREFIXES = ("/api/", "/apis/", "/openapi/")


class AlwaysAllow:
    """``--authorization-mode AlwaysAllow``."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Yes."""
        del user, info
        return ALLOW


class AlwaysDeny:
    """``--authorization-mode AlwaysDeny``: for tests of clients. ``system:masters`` is asked before it."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """No."""
        del user, info
        return Decision(Verdict.NO_OPINION, "Everything is forbidden.")


class PrivilegedGroups:
    """``system:masters`` may do everything: asked before any other (``NewPrivilegedGroups``)."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Yes to members, no opinion on others."""
        del info
        return ALLOW if MASTERS_GROUP in user.groups else NO_OPINION


class PublicInfo:
    """What everybody may read under upstream's default roles: health and version, and the API's shape when known."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Yes to reading those, no opinion on the rest."""
        if info.is_resource or info.verb not in ("get", "head"):
            return NO_OPINION
        path = info.path
        if path in PUBLIC_PATHS:
            return ALLOW
        if AUTHENTICATED_GROUP in user.groups and (path in _DISCOVERY_PATHS or path.startswith(_DISCOVERY_PREFIXES)):
            return ALLOW
        return NO_OPINION


class Chain:
    """The first that allows or denies decides; without any the answer is no, for all the reasons together."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = authorizers

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """What the first with an opinion says."""
        reasons = []
        for authorizer in self._authorizers:
            decision = authorizer.authorize(user, info)
            if decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(Verdict.NO_OPINION, "\n".join(reasons)) if reasons else NO_OPINION
