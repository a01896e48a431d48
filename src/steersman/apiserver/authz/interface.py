"""Interface of authorizers. They are called for every request, so they decide from memory without waiting."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from steersman.apimachinery.errors import StatusError, forbidden
from steersman.apimachinery.gotext import quote
from steersman.apiserver.authz.policy import PolicyRule  # noqa: TC001 — compiled code looks at a Struct's types

if TYPE_CHECKING:
    from steersman.apiserver.request import RequestInfo, UserInfo


class Verdict(Enum):
    """Decision of one authorizer; ``NO_OPINION`` of all means denied."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Decision:
    """Verdict and its reason, which a 403 contains. Shared and immutable."""

    __slots__ = ("allowed", "reason", "verdict")

    def __init__(self, verdict: Verdict, reason: str = "") -> None:
        self.verdict: Final = verdict
        self.reason: Final = reason
        #: True if the request is allowed.
        self.allowed: Final = verdict is Verdict.ALLOW

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decision) and (self.verdict, self.reason) == (other.verdict, other.reason)

    def __hash__(self) -> int:
        return hash((self.verdict, self.reason))

    def __repr__(self) -> str:
        return f"Decision({self.verdict!r}, {self.reason!r})"


ALLOW: Final = Decision(Verdict.ALLOW)
NO_OPINION: Final = Decision(Verdict.NO_OPINION)


class Authorizer(Protocol):
    """Authorizer of requests. Upstream: ``authorizer.Authorizer``."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Decide whether ``user`` may make the request."""


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
