"""Refusals and verdicts."""

import pytest

from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Verdict, refusal
from steersman.apiserver.request import RequestInfo, UserInfo


@pytest.mark.parametrize(
    ("decision", "allowed"), [(ALLOW, True), (NO_OPINION, False), (Decision(Verdict.DENY, "because"), False)]
)
def test_only_an_allowance_allows(decision, allowed):
    assert decision.allowed is allowed


def test_decisions_are_equal_when_they_say_the_same():
    decision, same = (Decision(Verdict.DENY, "because") for _ in range(2))
    assert decision == same
    assert hash(decision) == hash(same)
    assert Decision(Verdict.DENY, "") != decision
    assert decision != Verdict.DENY
    assert repr(decision) == "Decision(<Verdict.DENY: 'deny'>, 'because')"


def test_names_are_quoted_as_go_does():
    info = RequestInfo("get", "", True, "", "v1", 'n"s', "pods", "p")
    assert refusal(UserInfo("a\nb"), info).message == (
        'pods "p" is forbidden: User "a\\nb" cannot get resource "pods" in API group "" in the namespace "n\\"s"'
    )
