"""Counts of authorizers' decisions."""

import pytest

from steersman.apiserver.authz.counted import CountedAuthorizer
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Verdict
from steersman.apiserver.request import RequestInfo, UserInfo


class Decided:
    def __init__(self, decision):
        self.decision = decision

    def authorize(self, user, info):
        return self.decision


@pytest.mark.parametrize(
    ("decision", "counts"),
    [
        (ALLOW, (1, 0)),
        (Decision(Verdict.DENY, "no"), (0, 1)),
        (NO_OPINION, (0, 0)),
        (Decision(Verdict.NO_OPINION, "no node"), (0, 0)),
    ],
)
def test_authorize_counts_what_is_decided(decision, counts):
    authorizer = CountedAuthorizer("Node", Decided(decision))
    assert authorizer.authorize(UserInfo("alice"), RequestInfo("get", "/")) is decision
    assert (authorizer.allowed, authorizer.denied) == counts
