"""The ASGI application in front of an embedded API server."""

import asyncio
import gc
import weakref
from random import Random

import pytest

from steersman.apiserver.server.loopback import Loopback
from steersman.asynckit.clock import FakeClock
from steersman.testing.application import ClusterApplication, is_bookmark
from steersman.testing.fault_plan import WatchFault
from steersman.testing.faults import make_fault
from steersman.testing.idle import IdleDetector
from steersman.testing.links import Link


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


async def test_duplicated_request_is_served_twice_and_answered_once():
    bodies = []

    async def count(scope, receive, send):
        bodies.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200 + len(bodies), "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = application(count)
    app.faults.add(make_fault(respond="duplicate"))
    answer = await Loopback(app).request("POST", "/api/v1/namespaces/default/pods", body=b"pod")
    assert (answer.code, bodies) == (202, [b"pod", b"pod"])


class OneWatchFault:
    """Injector of a fault of the first piece of a watch."""

    def __init__(self, kind):
        self._faults = [WatchFault(kind, 0.5)]

    def select(self, info, user_agent):
        return None

    def watch_fault(self, info, user_agent):
        return self._faults.pop() if self._faults else None


async def two_events(scope, receive, send):
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for body in (b"first\n", b"other\n"):
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def pieces_with(kind):
    """Return the pieces of a watch whose first one has a fault, and whether the connection broke."""
    app = application(two_events)
    app.injector = OneWatchFault(kind)
    pieces = []
    try:
        async with Loopback(Link(app).serve).open("GET", "/api/v1/pods?watch=1") as exchange:
            iterator = aiter(exchange)
            while True:
                pieces.append(await anext(iterator))
    except StopAsyncIteration:
        return pieces, False
    except ConnectionError:
        return pieces, True


async def test_cut_watch_breaks_within_a_piece():
    assert await pieces_with("cut_watches") == ([b"fir"], True)


async def test_ended_watch_ends_before_a_piece():
    assert await pieces_with("end_watches") == ([], False)


async def test_expired_watch_ends_with_410():
    pieces, is_broken = await pieces_with("expire_watches")
    assert len(pieces) == 1
    assert b'"code":410' in pieces[0]
    assert is_broken


async def test_split_watch_delivers_a_piece_in_two_parts():
    assert await pieces_with("split_watches") == ([b"fir", b"st\n", b"other\n"], False)


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


async def test_request_leaves_no_reference_cycle():
    async def remember(scope, receive, send):
        received.append(weakref.ref(receive.__self__))
        await hello(scope, receive, send)

    received = []
    app = application(remember)
    gc.collect()
    gc.disable()
    try:
        await Loopback(app).request("GET", "/api/v1/pods")
        assert received[0]() is None
    finally:
        gc.enable()
