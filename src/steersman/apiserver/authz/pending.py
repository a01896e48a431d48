"""Decisions that a webhook makes: authorizers decide from memory, and a step that needs such a decision is repeated with it.

``authorize`` is synchronous, as almost every decision is made from memory. An authorizer that must ask raises
``PendingDecisionError``. The caller waits for the decision and repeats its step, which must have no effects before its
decisions: ``with_decisions`` does both. Decisions of one step are kept until it ends, whatever the caches keep.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from steersman.apiserver.workers import with_allowance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from steersman.apiserver.authz.interface import Authorizer, Decision
    from steersman.apiserver.request import RequestInfo, UserInfo

P = ParamSpec("P")
T = TypeVar("T")

#: Decisions of the step that runs, by the authorizer's key; None outside of ``call_with``.
_decisions: Final[ContextVar[dict[Hashable, Decision] | None]] = ContextVar("decisions", default=None)


class PendingDecisionError(Exception):
    """A synchronous step needs a decision that must be waited for. After ``resolve`` the step can be repeated."""

    def __init__(self, key: Hashable, decide: Callable[[], Awaitable[Decision]]) -> None:
        super().__init__("the authorizer needs to wait for a decision")
        self._key: Final = key
        self._decide: Final = decide

    async def resolve(self, decisions: dict[Hashable, Decision]) -> None:
        """Wait for the decision and add it to the decisions of the step."""
        decisions[self._key] = await self._decide()


def known_decision(key: Hashable) -> Decision | None:
    """Return the decision that the step that runs has waited for; None without one."""
    decisions = _decisions.get()
    return None if decisions is None else decisions.get(key)


def keep_decision(key: Hashable, decision: Decision) -> None:
    """Keep a decision for the rest of the step that runs."""
    decisions = _decisions.get()
    if decisions is not None:
        decisions[key] = decision


class StepDecisions:
    """Authorizer that decides once in a step: when the step is repeated, its earlier decisions are known and not counted again."""

    def __init__(self, delegate: Authorizer) -> None:
        self._delegate: Final = delegate

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return the decision of the delegate."""
        if _decisions.get() is None:
            return self._delegate.authorize(user, info)
        key = (user.name, user.groups, user.uid, tuple(user.extra.items()), info)
        decision = known_decision(key)
        if decision is None:
            decision = self._delegate.authorize(user, info)
            keep_decision(key, decision)
        return decision


def call_with(decisions: dict[Hashable, Decision], step: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a synchronous step with decisions. Raises ``PendingDecisionError`` if it needs another one."""
    token = _decisions.set(decisions)
    try:
        return step(*args, **kwargs)
    finally:
        _decisions.reset(token)


async def allow_with_decisions(step: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run an expensive step by ``with_allowance``, and again after each decision that it waits for."""
    decisions: dict[Hashable, Decision] = {}
    while True:
        try:
            return await with_allowance(call_with, decisions, step, *args, **kwargs)
        except PendingDecisionError as pending:
            waiting = pending
        await waiting.resolve(decisions)


async def with_decisions(step: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a synchronous step, and again after each decision that it waits for."""
    decisions: dict[Hashable, Decision] = {}
    while True:
        try:
            return call_with(decisions, step, *args, **kwargs)
        except PendingDecisionError as pending:
            waiting = pending
        await waiting.resolve(decisions)
