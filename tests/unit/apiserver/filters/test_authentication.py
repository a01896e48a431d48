"""Authentication filter."""

from contextlib import suppress

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.filters.access_metrics import AccessMetrics
from steersman.apiserver.filters.authentication import authentication
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import UserInfo


class Authenticator:
    def __init__(self, answer):
        self.answer = answer

    def authenticate_cached(self, request):
        return self.answer if isinstance(self.answer, UserInfo) and self.answer.name == "known" else None

    async def authenticate(self, request):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def ask(answer, metrics=None):
    async def handler(request):
        return Response(200, request.user.name.encode())

    request = Request({"method": "GET", "path": "/", "query_string": b"", "headers": []}, receive=None)
    return await authentication(Authenticator(answer), metrics or AccessMetrics())(handler)(request)


async def test_authentication_sets_user():
    assert (await ask(UserInfo("alice"))).body == b"alice"


async def test_authentication_uses_cached_user_without_waiting():
    assert (await ask(UserInfo("known"))).body == b"known"


@pytest.mark.parametrize("answer", [None, InvalidCredentials("no good")])
async def test_authentication_rejects_missing_and_invalid_credentials(answer):
    with pytest.raises(StatusError) as refused:
        await ask(answer)
    assert (refused.value.code, refused.value.message) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (UserInfo("known"), "success"),
        (UserInfo("alice"), "success"),
        (None, "failure"),
        (InvalidCredentials("no good"), "error"),
    ],
)
async def test_authentication_is_counted_by_result(answer, result):
    metrics = AccessMetrics()
    with suppress(StatusError):
        await ask(answer, metrics)
    families = {family.name: family.samples for family in await metrics.collect()}
    assert families["authentication_attempts"] == [("", (("result", result),), 1)]
