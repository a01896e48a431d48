"""Authorization filter."""

from contextlib import suppress

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision, Verdict
from steersman.apiserver.filters.access_metrics import AccessMetrics
from steersman.apiserver.filters.authorization import authorization, note
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import Annotations, RequestInfo, UserInfo


class Authorizer:
    def __init__(self, decision):
        self.decision = decision

    def authorize(self, user, info):
        return self.decision


async def ask(decision, metrics=None):
    async def handler(request):
        return Response(200)

    request = Request({"method": "GET", "path": "/x", "query_string": b"", "headers": []}, receive=None)
    request.user, request.info = UserInfo("alice"), RequestInfo("get", "/x")
    return await authorization(Authorizer(decision), metrics or AccessMetrics())(handler)(request)


async def test_authorization_calls_handler_when_allowed():
    assert (await ask(ALLOW)).code == 200


@pytest.mark.parametrize("decision", [NO_OPINION, Decision(Verdict.DENY)])
async def test_authorization_raises_403_when_denied(decision):
    with pytest.raises(StatusError) as refused:
        await ask(decision)
    assert (refused.value.code, refused.value.message) == (403, 'forbidden: User "alice" cannot get path "/x"')


@pytest.mark.parametrize(("decision", "word"), [(Decision(Verdict.ALLOW, "RBAC: x"), "allow"), (NO_OPINION, "forbid")])
def test_authorization_annotates_decision(decision, word):
    notes = Annotations()
    note(notes, decision)
    assert notes.values == {"authorization.k8s.io/decision": word, "authorization.k8s.io/reason": decision.reason}


@pytest.mark.parametrize(("decision", "result"), [(ALLOW, "allowed"), (NO_OPINION, "denied")])
async def test_authorization_is_counted_by_result(decision, result):
    metrics = AccessMetrics()
    with suppress(StatusError):
        await ask(decision, metrics)
    families = {family.name: family.samples for family in await metrics.collect()}
    assert families["authorization_attempts_total"] == [("", (("result", result),), 1)]
