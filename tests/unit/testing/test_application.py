"""The ASGI application in front of an embedded API server."""

import asyncio
from random import Random

import pytest

from steersman.apiserver.server.loopback import Loopback
from steersman.asynckit.clock import FakeClock
from steersman.testing.application import ClusterApplication, is_bookmark
from steersman.testing.idle import IdleDetector


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def stuck(scope, receive, send):
    await asyncio.Event().wait()


def application(server):
    app = ClusterApplication(FakeClock(), Random(1))
    app.server = server
    return app


async def test_request_without_server_is_refused():
    with pytest.raises(ConnectionError, match="the API server is down"):
        await Loopback(application(None)).request("GET", "/api/v1/pods")


async def test_request_is_served_and_recorded():
    app = application(hello)
    assert (await Loopback(app).request("GET", "/api/v1/pods", headers={"user-agent": "me"})).body == b"hello"
    (record,) = app.trace
    assert (record.verb, record.resource, record.user_agent, record.code) == ("list", "pods", "me", 200)


async def test_aborted_request_breaks_the_connection():
    app = application(stuck)
    request = asyncio.ensure_future(Loopback(app).request("GET", "/api/v1/pods"))
    await IdleDetector().wait()
    assert len(app.in_flight) == 1
    app.abort_all()
    with pytest.raises(ConnectionError, match="reset by peer"):
        await request
    assert not app.open_requests


async def test_watch_is_not_in_flight():
    app = application(stuck)
    request = asyncio.ensure_future(Loopback(app).request("GET", "/api/v1/pods?watch=1"))
    await IdleDetector().wait()
    assert not app.in_flight
    app.abort_all()
    with pytest.raises(ConnectionError):
        await request


async def test_other_protocols_are_rejected():
    with pytest.raises(ValueError, match="only http"):
        await application(hello)({"type": "websocket"}, None, None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"type":"BOOKMARK","object":{}}\n', True),
        (b'{"type":"BOOKMARK","object":{}}\n{"type":"ADDED","object":{}}\n', False),
        (b'{"type":"ADDED","object":{}}\n', False),
        (b"\x00\x00\x00\x0c\x0a\x08BOOKMARK\x12\x00", True),
        (b"\x00\x00\x00\x0c\x0a\x08BOOKMARK\x12\x00\x00\x00\x00\x01\x0a", False),
        (b"", False),
    ],
)
def test_bookmark_is_recognized_unless_other_events_follow_it(body, expected):
    assert is_bookmark(body) is expected
