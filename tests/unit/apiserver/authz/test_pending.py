"""Steps that wait for decisions of authorizers."""

from typing import ClassVar

import pytest

from steersman.apiserver.authz.interface import ALLOW, NO_OPINION
from steersman.apiserver.authz.pending import (
    PendingDecisionError,
    StepDecisions,
    allow_with_decisions,
    keep_decision,
    known_decision,
    with_decisions,
)
from steersman.apiserver.request import RequestInfo, UserInfo


class DecisionStep:
    """Synchronous step that needs decisions about ``keys``."""

    def __init__(self, *keys):
        self.keys = keys
        self.waited_for = []
        self.runs = 0

    def __call__(self, extra=()):
        self.runs += 1
        return [self.decision(key) for key in (*self.keys, *extra)]

    def decision(self, key):
        async def decide():
            self.waited_for.append(key)
            return ALLOW if key == "a" else NO_OPINION

        decision = known_decision(key)
        if decision is None:
            raise PendingDecisionError(key, decide)
        return decision


@pytest.mark.parametrize("run", [with_decisions, allow_with_decisions])
async def test_step_is_repeated_until_all_its_decisions_are_known(run):
    step = DecisionStep("a", "b")
    assert await run(step, extra=("a", "c")) == [ALLOW, NO_OPINION, ALLOW, NO_OPINION]
    assert (step.waited_for, step.runs) == (["a", "b", "c"], 4)


async def test_decisions_are_forgotten_after_the_step():
    step = DecisionStep("a")
    await with_decisions(step)
    await with_decisions(step)
    assert step.waited_for == ["a", "a"]
    keep_decision("a", ALLOW)
    assert known_decision("a") is None


async def test_step_keeps_its_own_decisions():
    def step():
        keep_decision("x", ALLOW)
        return known_decision("x")

    assert await with_decisions(step) is ALLOW


async def test_error_of_a_decision_ends_the_step():
    def step():
        async def decide():
            raise ConnectionError("gone")

        raise PendingDecisionError("a", decide)

    with pytest.raises(ConnectionError):
        await with_decisions(step)


async def test_earlier_decisions_of_a_repeated_step_are_not_made_again():
    class Delegate:
        decided: ClassVar = []

        def authorize(self, user, info):
            if info.verb == "list" and known_decision("list") is None:
                raise PendingDecisionError("list", self.wait)
            self.decided.append((user.name, info.verb))
            return ALLOW

        async def wait(self):
            return ALLOW

    authorizer = StepDecisions(Delegate())

    def step():
        users = (UserInfo("alice"), UserInfo("bob", extra={"scopes": ("a",)}))
        return [authorizer.authorize(user, RequestInfo(verb, "/p")) for verb in ("get", "list") for user in users]

    assert await with_decisions(step) == [ALLOW] * 4
    assert Delegate.decided == [("alice", "get"), ("bob", "get"), ("alice", "list"), ("bob", "list")]
    assert authorizer.authorize(UserInfo("alice"), RequestInfo("get", "/p")) is ALLOW
