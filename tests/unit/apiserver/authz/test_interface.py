"""Refusals and verdicts."""

import pytest

from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Verdict, refusal
from steersman.apiserver.request import RequestInfo, UserInfo


@pytest.mark.parametrize(
    ("decision", "allowed"), [(ALLOW, True), (NO_OPINION, False), (Decision(Verdict.DENY, "because"), False)]
)
def test_only_an_allowance_allows(decision, allowed):
    assert decision.allowed is allowed


def test_names_are_quoted_as_go_does():
    info = RequestInfo("get", "", True, "", "v1", 'n"s', "pods", "p")
    assert refusal(UserInfo("a\nb"), info).message == (
        'pods "p" is forbidden: User "a\\nb" cannot get resource "pods" in API group "" in the namespace "n\\"s"'
    )
