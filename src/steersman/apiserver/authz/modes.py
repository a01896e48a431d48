"""Authorizers without stored rules: AlwaysAllow, AlwaysDeny, privileged groups, and the chain of authorizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn.interface import MASTERS_GROUP
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Rules, Verdict, aggregate_errors
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
        """Allow."""
        del user, info
        return ALLOW

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return rules that allow everything."""
        del user, namespace
        return _EVERYTHING


class AlwaysDeny:
    """``--authorization-mode AlwaysDeny``, for tests of clients. ``system:masters`` precedes it."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return no opinion."""
        del user, info
        return Decision(Verdict.NO_OPINION, "Everything is forbidden.")

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return no rules."""
        del user, namespace
        return Rules()


class PrivilegedGroups:
    """Authorizer that allows everything to ``system:masters``; precedes all others.

    Upstream: ``NewPrivilegedGroups``.
    """

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow members; no opinion about others."""
        del info
        return ALLOW if MASTERS_GROUP in user.groups else NO_OPINION


class Chain:
    """Chain of authorizers: the first that allows or denies decides; otherwise denied with all reasons joined.

    Rules are the union of those of ``resolvers`` (``system:masters`` has a role, too). Upstream: ``union.New``.
    """

    def __init__(self, authorizers: Sequence[Authorizer], *, resolvers: Sequence[RuleResolver] = ()) -> None:
        self._authorizers = authorizers
        self._resolvers = resolvers

    def replace(self, authorizers: Sequence[Authorizer], *, resolvers: Sequence[RuleResolver] = ()) -> None:
        """Decide by other authorizers from now on."""
        self._authorizers = authorizers
        self._resolvers = resolvers

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return the first decision that is not ``NO_OPINION``."""
        reasons = []
        errors: tuple[str, ...] = ()  # no list: few decisions have an error
        for authorizer in self._authorizers:
            decision = authorizer.authorize(user, info)
            if decision is NO_OPINION:
                continue  # the common case
            if decision.allowed or decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
            if decision.error:
                errors = (*errors, decision.error)
        if not reasons and not errors:
            return NO_OPINION
        return Decision(Verdict.NO_OPINION, "\n".join(reasons), aggregate_errors(errors))

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return the rules of all resolvers."""
        resolved = [resolver.rules_for(user, namespace) for resolver in self._resolvers]
        return Rules(
            tuple(rule for rules in resolved for rule in rules.rules),
            incomplete=any(rules.incomplete for rules in resolved),
            error=", ".join(rules.error for rules in resolved if rules.error),
        )
