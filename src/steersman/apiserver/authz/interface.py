"""What an authorizer is. It is asked for every request, so it answers from memory and never waits."""

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
    """What one authorizer says; ``NO_OPINION`` from all of them is a no."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Decision:
    """A verdict and its reason, which a refusal tells the caller. A value: it is kept and shared, and never changed."""

    __slots__ = ("allowed", "reason", "verdict")

    def __init__(self, verdict: Verdict, reason: str = "") -> None:
        self.verdict: Final = verdict
        self.reason: Final = reason
        #: Whether the caller may.
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
    """Decides from who asks and what for."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """May ``user`` do what ``info`` says?"""


class Rules(msgspec.Struct, frozen=True):
    """What somebody may do, as far as it can be listed."""

    rules: tuple[PolicyRule, ...] = ()
    #: There may be more that cannot be listed.
    incomplete: bool = False
    #: What went wrong with finding out; empty when nothing did.
    error: str = ""


class RuleResolver(Protocol):
    """An authorizer that can list what somebody may do in a namespace."""

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """The rules that hold for ``user`` in ``namespace``, and everywhere."""


def refusal(user: UserInfo, info: RequestInfo, reason: str = "") -> StatusError:
    """The 403 in upstream's words (``responsewriters.Forbidden``)."""
    if info.is_resource:
        what = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        scope = f"in the namespace {quote(info.namespace)}" if info.namespace else "at the cluster scope"
        why = (
            f"User {quote(user.name)} cannot {info.verb} resource {quote(what)}"
            f" in API group {quote(info.group)} {scope}"
        )
    else:
        why = f"User {quote(user.name)} cannot {info.verb} path {quote(info.path)}"
    if reason:
        why = f"{why}: {reason}"
    if not info.is_resource:
        return forbidden("", "", why)
    group_resource = f"{info.resource}.{info.group}" if info.group else info.resource
    return forbidden(group_resource, info.name, why)
