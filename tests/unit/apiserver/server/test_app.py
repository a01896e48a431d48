"""ASGI application."""

import asyncio
import contextlib
import logging

import pytest

from steersman.apimachinery.errors import bad_request
from steersman.apiserver.filters.errors import errors
from steersman.apiserver.filters.request_info import request_info
from steersman.apiserver.http import Request, Response
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.loopback import Loopback
from steersman.asynckit.clock import FakeClock, RealClock


def application(handler, *, clock=None, **more) -> Application:
    return Application(errors()(request_info()(handler)), clock=clock or RealClock(), **more)


def answers(response: Response):
    async def handler(request: Request) -> Response:
        return response

    return handler


class Endless:
    """Endless stream that records when it is closed."""

    def __init__(self) -> None:
        self.sent = 0
        self.closed = asyncio.Event()

    async def __call__(self, request: Request) -> Response:
        return Response(200, stream=self._pieces())

    async def _pieces(self):
        try:
            while True:
                self.sent += 1
                yield b"piece"
                await asyncio.sleep(0)  # noqa: TID251
        finally:
            self.closed.set()


async def test_response_has_audit_id_and_no_cache_headers():
    answer = await Loopback(application(answers(Response(200, b"hello")))).request("GET", "/x")
    assert (answer.code, answer.body, answer.header("content-length")) == (200, b"hello", "5")
    assert len(answer.header("audit-id")) == 36
    assert answer.header("cache-control") == "no-cache, private"


async def test_response_can_override_cache_control():
    response = Response(200, headers=[(b"cache-control", b"public")])
    answer = await Loopback(application(answers(response))).request("GET", "/x")
    assert [value for name, value in answer.headers if name == b"cache-control"] == [b"public"]


async def test_client_audit_id_is_kept_and_truncated():
    client = Loopback(application(answers(Response(200))), headers={"Audit-ID": "a" * 100})
    assert (await client.request("GET", "/x")).header("audit-id") == "a" * 64


async def test_warnings_become_unique_headers():
    async def handler(request: Request) -> Response:
        request.warnings.add_all(["first", 'a "b" \\ \n', "first"])
        raise bad_request("no")

    answer = await Loopback(application(handler)).request("GET", "/x")
    warnings = [value for name, value in answer.headers if name == b"warning"]
    assert warnings == [b'299 - "first"', rb'299 - "a \"b\" \\  "']


async def test_warnings_above_limit_are_dropped():
    async def handler(request: Request) -> Response:
        request.warnings.add_all(f"{number} {'x' * 1000}" for number in range(100))
        return Response(200)

    answer = await Loopback(application(handler)).request("GET", "/x")
    texts = [
        value.decode().removeprefix('299 - "').removesuffix('"') for name, value in answer.headers if name == b"warning"
    ]
    assert [len(text) for text in texts] == [256] * 16


async def test_stream_pieces_are_sent_without_buffering():
    async def pieces():
        for number in range(3):
            yield b"%d" % number

    app = application(answers(Response(200, stream=pieces())))
    async with Loopback(app).open("GET", "/x") as exchange:
        assert exchange.code == 200
        assert [piece async for piece in exchange] == [b"0", b"1", b"2"]
    assert app.busy == 0


async def test_stream_ends_when_client_disconnects():
    endless = Endless()
    app = application(endless)
    async with Loopback(app).open("GET", "/x") as exchange, contextlib.aclosing(aiter(exchange)) as pieces:
        assert await anext(pieces) == b"piece"
    assert endless.closed.is_set()
    assert app.busy == 0


async def test_stream_is_paused_when_client_stops_reading():
    endless = Endless()
    async with Loopback(application(endless)).open("GET", "/x"):
        for _ in range(1000):
            await asyncio.sleep(0)  # noqa: TID251
        assert endless.sent < 30


async def test_end_watches_ends_watches_but_not_lists():
    watch, other = Endless(), Endless()

    async def handler(request: Request) -> Response:
        return await (watch if request.info.verb == "watch" else other)(request)

    app = application(handler)
    client = Loopback(app)
    async with client.open("GET", "/api/v1/pods?watch=1") as watching, client.open("GET", "/api/v1/pods"):
        app.end_watches()
        async for _ in watching:
            pass
        assert watch.closed.is_set()
        assert not other.closed.is_set()
    answer = await client.request("GET", "/api/v1/pods?watch=1")
    assert answer.code == 200


async def test_on_end_is_called_however_stream_ends():
    ends = []

    async def handler(request: Request) -> Response:
        response = await Endless()(request)
        response.on_end = lambda: ends.append(1)
        return response

    async with Loopback(application(handler)).open("GET", "/x"):
        assert ends == []
    assert ends == [1]


async def test_failed_stream_is_cut_off_and_logged(caplog):
    async def pieces():
        yield b"begin"
        raise RuntimeError("in the middle")

    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return await asyncio.Event().wait()

    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}
    with caplog.at_level(logging.ERROR):
        await application(answers(Response(200, stream=pieces())))(scope, receive, send)
    assert [message.get("more_body") for message in sent] == [None, True]
    assert "in the middle" in caplog.text


async def test_request_above_timeout_is_504():
    clock = FakeClock()

    async def handler(request: Request) -> Response:
        await asyncio.Event().wait()

    app = application(handler, clock=clock, timeout_seconds=60)
    task = asyncio.create_task(Loopback(app).request("GET", "/api/v1/pods"))
    await clock.advance(59)
    assert not task.done()
    await clock.advance(3)
    answer = await task
    assert (answer.code, answer.json()["message"]) == (
        504,
        "Timeout: request did not complete within the allotted timeout",
    )
    assert app.busy == 0


async def test_cancellation_from_outside_propagates():
    async def handler(request: Request) -> Response:
        await asyncio.Event().wait()

    app = application(handler)
    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}
    task = asyncio.create_task(app(scope, None, None))
    await asyncio.sleep(0)  # noqa: TID251
    assert app.busy == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert app.busy == 0


async def test_other_scopes_are_rejected():
    with pytest.raises(ValueError, match="lifespan"):
        await application(answers(Response(200)))({"type": "lifespan"}, None, None)
