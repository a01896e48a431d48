"""Union of authenticators."""

import pytest

from steersman.apiserver.authn.bearer import BearerToken
from steersman.apiserver.authn.client_certificate import ClientCertificate
from steersman.apiserver.authn.interface import ANONYMOUS_USER, AUTHENTICATED_GROUP, InvalidCredentials
from steersman.apiserver.authn.union import Union
from steersman.apiserver.http import Request
from steersman.apiserver.request import UserInfo
from steersman.asynckit.clock import FakeClock

CLOCK = FakeClock()


def request_with(authorization: bytes = b"", chain: list[str] | None = None, path: str = "/") -> Request:
    scope = {
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [(b"authorization", authorization)],
        "extensions": {"tls": {"client_cert_chain": chain}},
    }
    return Request(scope, None)  # type: ignore[arg-type]  # the body is not read


class Knows:
    def __init__(self, user: UserInfo | None) -> None:
        self.user = user

    async def authenticate(self, request: object) -> UserInfo | None:
        del request
        return self.user


class Refuses:
    async def authenticate(self, request: object) -> UserInfo | None:
        raise InvalidCredentials("no")


async def test_first_authenticator_with_user_wins():
    union = Union([Knows(None), Knows(UserInfo("alice")), Knows(UserInfo("bob"))], anonymous=True)
    assert await union.authenticate(request_with()) == UserInfo("alice", ("system:authenticated",))


async def test_invalid_credentials_are_ignored_when_another_succeeds():
    assert (
        await Union([Refuses(), Knows(UserInfo("alice"))], anonymous=True).authenticate(request_with())
    ).name == "alice"


async def test_invalid_credentials_raise_and_are_not_anonymous():
    with pytest.raises(InvalidCredentials):
        await Union([Refuses(), Knows(None)], anonymous=True).authenticate(request_with())


async def test_request_without_credentials_is_anonymous_when_allowed():
    assert await Union([Knows(None)], anonymous=True).authenticate(request_with()) == ANONYMOUS_USER
    assert await Union([Knows(None)], anonymous=False).authenticate(request_with()) is None


async def test_anonymous_requests_may_be_restricted_to_paths():
    union = Union([Knows(None)], anonymous=True, anonymous_paths=["/livez"])
    assert await union.authenticate(request_with(path="/livez")) == ANONYMOUS_USER
    for path in ("/livez/", "/livez/ping", "/"):
        assert await union.authenticate(request_with(path=path)) is None


@pytest.mark.parametrize("group", ["system:authenticated", "system:unauthenticated"])
async def test_authenticated_group_is_not_added_to_anonymous(group):
    union = Union([Knows(UserInfo("alice", (group,)))], anonymous=True)
    assert (await union.authenticate(request_with())).groups == (group,)


def with_known_callers() -> Union:
    bearer = BearerToken([], clock=CLOCK, fixed_tokens={"secret": UserInfo("ann")})
    return Union([], anonymous=False, certificates=ClientCertificate(CLOCK), bearer_tokens=bearer)


def test_authenticate_cached_returns_user_of_fixed_token():
    assert with_known_callers().authenticate_cached(request_with(b"Bearer secret")) == UserInfo(
        "ann", (AUTHENTICATED_GROUP,)
    )


def test_authenticate_cached_returns_none_without_credentials():
    assert with_known_callers().authenticate_cached(request_with()) is None
    assert Union([], anonymous=True).authenticate_cached(request_with(b"Bearer secret")) is None


def test_authenticate_cached_prefers_certificate():
    assert with_known_callers().authenticate_cached(request_with(b"Bearer secret", ["a certificate"])) is None
    assert Union([], anonymous=True).authenticate_cached(request_with(chain=["a certificate"])) is None
