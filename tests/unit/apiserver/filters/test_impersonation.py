"""Impersonation filter."""

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.authz.modes import AlwaysAllow, PrivilegedGroups
from steersman.apiserver.filters.impersonation import impersonation
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import UserInfo


async def acting(headers, authorizer=None) -> UserInfo:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    request = Request({"method": "GET", "path": "/healthz", "query_string": b"", "headers": raw}, receive=None)
    request.user = UserInfo("caller")
    request.info = parse("GET", "/healthz")

    async def handler(request: Request) -> Response:
        return Response(200)

    await impersonation(authorizer or AlwaysAllow())(handler)(request)
    return request.user


async def test_impersonation_keeps_user_without_headers():
    assert await acting([("Accept", "*/*")], PrivilegedGroups()) == UserInfo("caller")


async def test_impersonation_sets_user_of_headers():
    user = await acting(
        [
            ("Impersonate-User", "bob"),
            ("Impersonate-Uid", "u"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Extra-Example.com%2Fteam", "x"),
            ("Impersonate-Extra-Example.com%2Fteam", "y"),
        ]
    )
    assert user == UserInfo("bob", ("a", "b", "system:authenticated"), "u", {"example.com/team": ("x", "y")})


@pytest.mark.parametrize("header", ["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes"])
async def test_impersonation_raises_400_without_user_name(header):
    with pytest.raises(StatusError) as error:
        await acting([(header, "x"), ("Impersonate-User", "")])
    assert error.value.code == 400


async def test_impersonation_raises_403_without_permission():
    with pytest.raises(StatusError) as error:
        await acting([("Impersonate-User", "bob")], PrivilegedGroups())
    assert error.value.message == ('forbidden: User "caller" cannot impersonate-on:user-info:get path "/healthz"')


@pytest.mark.parametrize(
    ("escaped", "key"),
    [("a%2Fb", "a/b"), ("a%2fb%zz", "a%2fb%zz"), ("a%2", "a%2"), ("a%", "a%"), ("a%25zz", "a%zz")],
)
async def test_impersonation_keeps_extra_key_with_malformed_escape(escaped, key):
    user = await acting([("Impersonate-User", "bob"), (f"Impersonate-Extra-{escaped}", "x")])
    assert user.extra == {key: ("x",)}
