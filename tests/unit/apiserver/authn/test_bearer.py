"""Tokens out of headers."""

import base64

import pytest

from steersman.apiserver.authn.bearer import BearerToken, WebSocketToken
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.static_token import StaticTokens
from steersman.apiserver.http import Request
from steersman.apiserver.request import UserInfo

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
async def test_a_known_token_names_its_bearer(value):
    assert await BearerToken(TOKENS).authenticate(request(("Authorization", value))) == ALICE


@pytest.mark.parametrize("value", ["", "Basic YTpi", "Token good", "Bearer", "Bearer ", "good"])
async def test_what_holds_no_bearer_token_is_no_credential(value):
    assert await BearerToken(TOKENS).authenticate(request(("Authorization", value))) is None


async def test_an_extra_space_is_told_in_a_warning():
    asked = request(("Authorization", "Bearer  good"))
    assert await BearerToken(TOKENS).authenticate(asked) is None
    assert asked.warnings.texts == [
        "the provided Authorization header contains extra space before the bearer token, and is ignored"
    ]


async def test_an_unknown_token_is_invalid():
    with pytest.raises(InvalidCredentials):
        await BearerToken(TOKENS).authenticate(request(("Authorization", "Bearer bad")))


async def test_a_websocket_may_carry_its_token_in_a_subprotocol():
    asked = websocket(f"{subprotocol('good')}, v4.channel.k8s.io")
    assert await WebSocketToken(TOKENS).authenticate(asked) == ALICE


@pytest.mark.parametrize(
    "protocols",
    [
        f"{subprotocol('bad')}, v4.channel.k8s.io",
        subprotocol("good"),
        f"{subprotocol('good')}, {subprotocol('good')}",
        "base64url.bearer.authorization.k8s.io.%, v4.channel.k8s.io",
    ],
)
async def test_a_bad_subprotocol_is_invalid(protocols):
    with pytest.raises(InvalidCredentials):
        await WebSocketToken(TOKENS).authenticate(websocket(protocols))


async def test_the_subprotocol_of_a_plain_request_is_ignored():
    asked = request(("Sec-WebSocket-Protocol", subprotocol("bad")))
    assert await WebSocketToken(TOKENS).authenticate(asked) is None
