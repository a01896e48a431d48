"""Decisions and 403 responses."""

import pytest

from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Verdict, refusal
from steersman.apiserver.request import RequestInfo, UserInfo


@pytest.mark.parametrize(
    ("decision", "allowed"), [(ALLOW, True), (NO_OPINION, False), (Decision(Verdict.DENY, "because"), False)]
)
def test_allowed_is_true_for_allow_only(decision, allowed):
    assert decision.allowed is allowed


def test_decisions_compare_by_value():
    decision, same = (Decision(Verdict.DENY, "because") for _ in range(2))
    assert decision == same
    assert hash(decision) == hash(same)
    assert Decision(Verdict.DENY, "") != decision
    assert decision != Verdict.DENY
    assert repr(decision) == "Decision(<Verdict.DENY: 'deny'>, 'because', '')"


def test_refusal_quotes_names_as_go():
    info = RequestInfo("get", "", True, "", "v1", 'n"s', "pods", "p")
    assert refusal(UserInfo("a\nb"), info).message == (
        'pods "p" is forbidden: User "a\\nb" cannot get resource "pods" in API group "" in the namespace "n\\"s"'
    )
