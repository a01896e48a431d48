"""Scopes of requests."""

import asyncio

from steersman.apiserver.server.http1.scope import RequestScopes


class Transport(asyncio.Transport):
    def __init__(self):
        super().__init__({"peername": ("10.0.0.1", 1), "sockname": ("10.0.0.2", 2)})


def test_scope_has_the_keys_that_asgi_requires():
    scopes = RequestScopes(Transport(), {"steersman.push": 1})
    headers = [(b"a", b"b")]
    scope = scopes.create("GET", b"/a%20b", b"c=d", "1.0", headers)
    assert scope.pop("asgi")["version"] == "3.0"
    assert scope == {
        "type": "http",
        "http_version": "1.0",
        "server": ("10.0.0.2", 2),
        "client": ("10.0.0.1", 1),
        "scheme": "http",
        "root_path": "",
        "headers": headers,
        "method": "GET",
        "path": "/a b",
        "raw_path": b"/a%20b",
        "query_string": b"c=d",
        "extensions": {"steersman.push": 1},
    }


def test_released_scopes_refer_to_nothing():
    scopes = RequestScopes(Transport(), {"steersman.push": 1})
    scopes.release()
    assert scopes.create("GET", b"/", b"", "1.1", [])["extensions"] == {}
