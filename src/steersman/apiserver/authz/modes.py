"""The bodies that need no stored rules: everything allowed, nothing allowed, and by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn.interface import MASTERS_GROUP
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Rules, Verdict
from steersman.apiserver.authz.policy import PolicyRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authz.interface import Authorizer, RuleResolver
    from steersman.apiserver.request import RequestInfo, UserInfo

_EVERYTHING: Final = Rules(
    (
        PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
        PolicyRule(verbs=("*",), non_resource_urls=("*",)),
    )
)


class AlwaysAllow:
    """``--authorization-mode AlwaysAllow``."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Yes."""
        del user, info
        return ALLOW

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Everything."""
        del user, namespace
        return _EVERYTHING


class AlwaysDeny:
    """``--authorization-mode AlwaysDeny``: for tests of clients. ``system:masters`` is asked before it."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """No."""
        del user, info
        return Decision(Verdict.NO_OPINION, "Everything is forbidden.")

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Nothing."""
        del user, namespace
        return Rules()


class PrivilegedGroups:
    """``system:masters`` may do everything: asked before any other (``NewPrivilegedGroups``)."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Yes to members, no opinion on others."""
        del info
        return ALLOW if MASTERS_GROUP in user.groups else NO_OPINION


class Chain:
    """The first that allows or denies decides; without any the answer is no, for all the reasons together.

    What somebody may do is what ``resolvers`` say together (``system:masters`` hold a role, too).
    """

    def __init__(self, authorizers: Sequence[Authorizer], *, resolvers: Sequence[RuleResolver] = ()) -> None:
        self._authorizers = authorizers
        self._resolvers = resolvers

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """What the first with an opinion says."""
        reasons = []
        for authorizer in self._authorizers:
            decision = authorizer.authorize(user, info)
            if decision is NO_OPINION:
                continue  # what most say of most, and soon told
            if decision.allowed or decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(Verdict.NO_OPINION, "\n".join(reasons)) if reasons else NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """All that the resolvers say."""
        said = [resolver.rules_for(user, namespace) for resolver in self._resolvers]
        return Rules(
            tuple(rule for rules in said for rule in rules.rules),
            incomplete=any(rules.incomplete for rules in said),
            error=", ".join(rules.error for rules in said if rules.error),
        )
