"""From a scope to what is sent."""

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
    """A stream without end that knows when it was closed."""

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


async def test_every_answer_has_an_audit_id_and_is_not_kept_by_caches():
    answer = await Loopback(application(answers(Response(200, b"hello")))).request("GET", "/x")
    assert (answer.code, answer.body, answer.header("content-length")) == (200, b"hello", "5")
    assert len(answer.header("audit-id")) == 36
    assert answer.header("cache-control") == "no-cache, private"


async def test_an_answer_may_say_otherwise_about_caches():
    response = Response(200, headers=[(b"cache-control", b"public")])
    answer = await Loopback(application(answers(response))).request("GET", "/x")
    assert [value for name, value in answer.headers if name == b"cache-control"] == [b"public"]


async def test_an_audit_id_that_the_client_brings_is_kept_and_cut():
    client = Loopback(application(answers(Response(200))), headers={"Audit-ID": "a" * 100})
    assert (await client.request("GET", "/x")).header("audit-id") == "a" * 64


async def test_warnings_become_headers_once_each():
    async def handler(request: Request) -> Response:
        request.warnings.add_all(["first", 'a "b" \\ \n', "first"])
        raise bad_request("no")

    answer = await Loopback(application(handler)).request("GET", "/x")
    warnings = [value for name, value in answer.headers if name == b"warning"]
    assert warnings == [b'299 - "first"', rb'299 - "a \"b\" \\  "']


async def test_warnings_beyond_the_bound_are_left_out():
    async def handler(request: Request) -> Response:
        request.warnings.add_all(f"{number} {'x' * 1000}" for number in range(100))
        return Response(200)

    answer = await Loopback(application(handler)).request("GET", "/x")
    texts = [
        value.decode().removeprefix('299 - "').removesuffix('"') for name, value in answer.headers if name == b"warning"
    ]
    assert [len(text) for text in texts] == [256] * 16


async def test_pieces_of_a_stream_are_sent_as_they_come():
    async def pieces():
        for number in range(3):
            yield b"%d" % number

    app = application(answers(Response(200, stream=pieces())))
    async with Loopback(app).open("GET", "/x") as exchange:
        assert exchange.code == 200
        assert [piece async for piece in exchange] == [b"0", b"1", b"2"]
    assert app.busy == 0


async def test_a_client_that_goes_away_ends_its_stream():
    endless = Endless()
    app = application(endless)
    async with Loopback(app).open("GET", "/x") as exchange, contextlib.aclosing(aiter(exchange)) as pieces:
        assert await anext(pieces) == b"piece"
    assert endless.closed.is_set()
    assert app.busy == 0


async def test_a_reader_who_stops_holds_back_its_stream():
    endless = Endless()
    async with Loopback(application(endless)).open("GET", "/x"):
        for _ in range(1000):
            await asyncio.sleep(0)  # noqa: TID251
        assert endless.sent < 30


async def test_watches_end_cleanly_when_the_server_stops_and_lists_go_on():
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


async def test_the_end_of_a_stream_is_told_however_it_ends():
    ends = []

    async def handler(request: Request) -> Response:
        response = await Endless()(request)
        response.on_end = lambda: ends.append(1)
        return response

    async with Loopback(application(handler)).open("GET", "/x"):
        assert ends == []
    assert ends == [1]


async def test_a_stream_that_fails_is_broken_off_and_logged(caplog):
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


async def test_what_takes_too_long_is_504():
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


async def test_a_request_cancelled_from_outside_is_cancelled():
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


async def test_only_http_is_served():
    with pytest.raises(ValueError, match="lifespan"):
        await application(answers(Response(200)))({"type": "lifespan"}, None, None)
