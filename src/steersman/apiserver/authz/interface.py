"""Interface of authorizers. They are called for every request, so they decide from memory without waiting.

An authorizer that must ask a webhook raises ``PendingDecisionError``; see ``pending``.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from steersman.apimachinery.errors import StatusError, forbidden
from steersman.apimachinery.gotext import quote
from steersman.apiserver.authz.policy import PolicyRule  # noqa: TC001 — compiled code looks at a Struct's types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.request import RequestInfo, UserInfo


class Verdict(Enum):
    """Decision of one authorizer; ``NO_OPINION`` of all means denied."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Decision:
    """Verdict and its reason, which a 403 contains. Shared and immutable."""

    __slots__ = ("allowed", "error", "reason", "verdict")

    def __init__(self, verdict: Verdict, reason: str = "", error: str = "") -> None:
        self.verdict: Final = verdict
        self.reason: Final = reason
        #: Error of the evaluation, e.g. of a webhook that cannot be reached; empty without one.
        self.error: Final = error
        #: True if the request is allowed.
        self.allowed: Final = verdict is Verdict.ALLOW

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decision) and self._values() == other._values()

    def _values(self) -> tuple[object, ...]:
        """Return the values that determine equality, in the order of the constructor."""
        return (self.verdict, self.reason, self.error)

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"Decision{self._values()!r}"


ALLOW: Final = Decision(Verdict.ALLOW)
NO_OPINION: Final = Decision(Verdict.NO_OPINION)


class Authorizer(Protocol):
    """Authorizer of requests. Upstream: ``authorizer.Authorizer``."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Decide whether ``user`` may make the request. Raises ``PendingDecisionError`` if the decision must be waited for."""


class Rules(msgspec.Struct, frozen=True):
    """Rules of a user, as far as they can be listed. Upstream: ``ResourceRuleInfo`` and ``NonResourceRuleInfo``."""

    rules: tuple[PolicyRule, ...] = ()
    #: The list is incomplete.
    incomplete: bool = False
    #: Evaluation error; empty without one.
    error: str = ""


class RuleResolver(Protocol):
    """Authorizer that can list a user's rules in a namespace."""

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return the rules of ``user`` in ``namespace``, including cluster-wide ones."""


def aggregate_errors(errors: Sequence[str]) -> str:
    """Join the distinct errors. Upstream: ``utilerrors.Aggregate``."""
    once = list(dict.fromkeys(errors))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""


def refusal(user: UserInfo, info: RequestInfo, reason: str = "") -> StatusError:
    """Return a 403 with upstream's text. Upstream: ``responsewriters.Forbidden``."""
    if info.is_resource:
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        scope = f"in the namespace {quote(info.namespace)}" if info.namespace else "at the cluster scope"
        detail = (
            f"User {quote(user.name)} cannot {info.verb} resource {quote(resource)}"
            f" in API group {quote(info.group)} {scope}"
        )
    else:
        detail = f"User {quote(user.name)} cannot {info.verb} path {quote(info.path)}"
    if reason:
        detail = f"{detail}: {reason}"
    if not info.is_resource:
        return forbidden("", "", detail)
    group_resource = f"{info.resource}.{info.group}" if info.group else info.resource
    return forbidden(group_resource, info.name, detail)
