"""Bearer tokens in headers and subprotocols."""

import base64

import pytest

from steersman.apiserver.authn.bearer import BearerToken, WebSocketToken, review_token
from steersman.apiserver.authn.interface import AUTHENTICATED_GROUP, InvalidCredentials, Reviewed, VerifiedUser
from steersman.apiserver.authn.static_token import StaticTokens
from steersman.apiserver.http import Request
from steersman.apiserver.request import UserInfo
from steersman.asynckit.clock import FakeClock

ALICE = UserInfo("alice", ("devs",), "u1")
TOKENS = [StaticTokens({"good": ALICE})]


def request(*headers: tuple[str, str]) -> Request:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    return Request({"method": "GET", "path": "/", "query_string": b"", "headers": raw}, receive=None)


def websocket(protocols: str) -> Request:
    return request(("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", protocols))


def subprotocol(token: str) -> str:
    return "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


@pytest.mark.parametrize("value", ["Bearer good", "bearer good", "BEARER good", "Bearer good more", " Bearer good "])
async def test_authenticate_returns_user_of_known_token(value):
    assert await BearerToken(TOKENS, clock=FakeClock()).authenticate(request(("Authorization", value))) == ALICE


class Failing:
    """Token authenticator that rejects every token with an error."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def authenticate_token(self, token: str) -> UserInfo | None:
        raise InvalidCredentials(self.text)

    async def review(self, token: str, audiences: object) -> Reviewed | None:
        raise InvalidCredentials(self.text)


async def test_later_authenticator_may_accept_what_another_rejects():
    authenticators = [Failing("a"), StaticTokens({"good": ALICE}, audiences=("api",)), Failing("b")]
    bearer = BearerToken(authenticators, clock=FakeClock())
    assert await bearer.authenticate(request(("Authorization", "Bearer good"))) == ALICE
    with pytest.raises(InvalidCredentials, match=r"^\[a, b\]$"):
        await bearer.authenticate(request(("Authorization", "Bearer bad")))
    assert (await review_token("good", ("api",), authenticators)).user.name == "alice"
    with pytest.raises(InvalidCredentials, match=r"^\[invalid bearer token, a, b\]$"):
        await review_token("bad", ("api",), authenticators)


@pytest.mark.parametrize("value", ["", "Basic YTpi", "Token good", "Bearer", "Bearer ", "good"])
async def test_authenticate_ignores_headers_without_bearer_token(value):
    assert await BearerToken(TOKENS, clock=FakeClock()).authenticate(request(("Authorization", value))) is None


async def test_authenticate_warns_about_extra_space():
    http_request = request(("Authorization", "Bearer  good"))
    assert await BearerToken(TOKENS, clock=FakeClock()).authenticate(http_request) is None
    assert http_request.warnings.texts == [
        "the provided Authorization header contains extra space before the bearer token, and is ignored"
    ]


FIXED = {"secret": UserInfo("ann"), "with space": UserInfo("bob"), "ümlaut": UserInfo("eve")}


def test_authenticate_cached_returns_user_of_fixed_token():
    user = BearerToken([], clock=FakeClock(), fixed_tokens=FIXED).authenticate_cached(b"Bearer secret")
    assert user == UserInfo("ann", (AUTHENTICATED_GROUP,))


@pytest.mark.parametrize(
    "header", [b"", b"secret", b"bearer secret", b"Bearer with space", "Bearer ümlaut".encode(), b"Bearer other"]
)
def test_authenticate_cached_returns_none_for_other_headers(header):
    assert BearerToken([], clock=FakeClock(), fixed_tokens=FIXED).authenticate_cached(header) is None


class State:
    current = True

    def is_current(self) -> bool:
        return self.current


class CachingAuthenticator:
    """Token authenticator whose results are valid for ten seconds, while ``state`` is current."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.state = State()

    def verified(self, token: str) -> VerifiedUser | None:
        return VerifiedUser(ALICE, (self.state,), until=self.clock.monotonic() + 10) if token == "good" else None


async def test_authenticate_cached_returns_verified_user_until_expiry():
    clock = FakeClock()
    bearer = BearerToken(TOKENS, clock=clock, token_cache=CachingAuthenticator(clock))
    assert bearer.authenticate_cached(b"Bearer good") is None
    await bearer.authenticate(request(("Authorization", "Bearer good")))
    await clock.advance(9.9)
    assert bearer.authenticate_cached(b"Bearer good") is ALICE
    await clock.advance(0.1)
    assert bearer.authenticate_cached(b"Bearer good") is None
    assert bearer.authenticate_cached(b"Bearer bad") is None


async def test_authenticate_cached_returns_none_after_bound_object_is_written():
    clock = FakeClock()
    token_cache = CachingAuthenticator(clock)
    bearer = BearerToken(TOKENS, clock=clock, token_cache=token_cache)
    await bearer.authenticate(request(("Authorization", "Bearer good")))
    token_cache.state.current = False
    assert bearer.authenticate_cached(b"Bearer good") is None


async def test_long_headers_are_not_cached():
    clock = FakeClock()
    bearer = BearerToken(TOKENS, clock=clock, token_cache=CachingAuthenticator(clock))
    for length in (4096, 4097):
        header = "Bearer good ".ljust(length, "x")
        assert await bearer.authenticate(request(("Authorization", header))) == ALICE
        assert (bearer.authenticate_cached(header.encode()) is ALICE) == (length == 4096)


async def test_expired_headers_are_evicted_when_another_is_verified():
    clock = FakeClock()
    bearer = BearerToken(TOKENS, clock=clock, token_cache=CachingAuthenticator(clock))
    for spelling in ("Bearer good", "bearer good", "BEARER good"):
        await bearer.authenticate(request(("Authorization", spelling)))
    await clock.advance(10)
    await bearer.authenticate(request(("Authorization", "Bearer good more")))
    assert list(bearer._verified) == [b"Bearer good more"]


async def test_authenticate_raises_for_unknown_token():
    with pytest.raises(InvalidCredentials):
        await BearerToken(TOKENS, clock=FakeClock()).authenticate(request(("Authorization", "Bearer bad")))


async def test_websocket_token_authenticates():
    requested = websocket(f"{subprotocol('good')}, v4.channel.k8s.io")
    assert await WebSocketToken(TOKENS).authenticate(requested) == ALICE


@pytest.mark.parametrize(
    "protocols",
    [
        f"{subprotocol('bad')}, v4.channel.k8s.io",
        subprotocol("good"),
        f"{subprotocol('good')}, {subprotocol('good')}",
        "base64url.bearer.authorization.k8s.io.%, v4.channel.k8s.io",
    ],
)
async def test_websocket_token_raises_for_invalid_subprotocol(protocols):
    with pytest.raises(InvalidCredentials):
        await WebSocketToken(TOKENS).authenticate(websocket(protocols))


async def test_websocket_token_ignores_requests_without_upgrade():
    http_request = request(("Sec-WebSocket-Protocol", subprotocol("bad")))
    assert await WebSocketToken(TOKENS).authenticate(http_request) is None
