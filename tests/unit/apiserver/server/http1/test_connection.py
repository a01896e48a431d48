"""Connections over an in-memory transport with a fake clock (real sockets: ``test_serving``)."""

from __future__ import annotations

import asyncio
import gc
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.apiserver.server.recording_app import RecordingApp

from steersman.apiserver.server.http1 import limits
from steersman.apiserver.server.http1.accepted_headers import PLAIN_REQUEST_LINE
from steersman.apiserver.server.http1.connection import ServerConnection
from steersman.apiserver.server.http1.limits import Timeouts
from steersman.apiserver.server.http1.state import ServerState
from steersman.asynckit.clock import FakeClock

TIMEOUTS = Timeouts()


class Transport:
    """Transport that records writes and how the connection ends."""

    def __init__(self) -> None:
        self.written = b""
        self.end: str | None = None
        self.has_eof = False
        self.is_reading = True
        self.unsent = 0
        self.protocol: Any = None

    def write(self, data: bytes) -> None:
        assert not self.has_eof
        if self.end is None:
            self.written += data

    def close(self) -> None:
        self.end = self.end or "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def is_closing(self) -> bool:
        return self.end is not None

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_eof = True

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)}.get(name, default)

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol


class App(RecordingApp):
    """Application that waits under ``/slow``, and responds with the body's size."""

    def described(self, scope: Any) -> list[Any]:
        return [*super().described(scope), scope["query_string"], list(scope["headers"])]

    async def respond(self, scope: Any, entry: list[Any], receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await self.go.wait()
        if scope["path"] == "/begun":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await self.go.wait()
            await send({"type": "http.response.body", "body": b"end"})
            return
        if scope["path"] == "/upgrade":
            self.streams = scope["extensions"]["steersman.upgrade"]()
            return
        if scope["path"] == "/gone":
            await self.wait_for_disconnect(entry, receive)
        text = b"%d" % len(entry[-2])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
        await send({"type": "http.response.body", "body": text})


class Client:
    """A connection with its transport, application and clock."""

    def __init__(self) -> None:
        self.app, self.clock, self.transport = App(), FakeClock(), Transport()
        self.state = ServerState(self.app, self.clock, TIMEOUTS)
        self.state.date_line = b"date: now\r\n"
        self.connection = ServerConnection(self.state)

    def connect(self) -> None:
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]  # the methods that are called

    async def send(self, data: bytes) -> None:
        if self.transport.end is None:
            self.connection.data_received(data)
        await self.settle()

    async def settle(self) -> None:
        """Run pending callbacks; pipelined requests are served one after another."""
        for _ in range(10):
            await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop

    def lose(self) -> None:
        self.transport.end = self.transport.end or "lost"
        self.connection.connection_lost(None)

    @property
    def codes(self) -> list[int]:
        return [int(code) for code in re.findall(rb"HTTP/1\.[01] ([0-9]{3}) ", self.transport.written)]


@pytest.fixture
async def client():
    new_client = Client()
    new_client.connect()
    yield new_client
    new_client.app.go.set()
    new_client.app.takes_body.set()
    new_client.lose()
    await new_client.settle()
    assert new_client.state.tasks == set()
    assert new_client.state.connections == set()
    assert new_client.clock.waiting == 0


def request(path: str = "/", *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: x", *headers, "", ""]).encode()


def post(path: str, body: bytes, *headers: str) -> bytes:
    return request(path, f"Content-Length: {len(body)}", *headers, method="POST") + body


CHUNKED = "Transfer-Encoding: chunked"


# Keep-alive and pipelining


async def test_connection_is_kept_for_further_requests(client):
    for _ in range(3):
        await client.send(request())
    assert client.codes == [200, 200, 200]
    assert client.transport.end is None


@pytest.mark.parametrize(
    ("raw", "is_kept"),
    [
        (request("/", "Connection: close"), False),
        (request("/", "Connection: close, keep-alive"), False),
        (request(version="1.0"), False),
        (request("/", "Connection: keep-alive", version="1.0"), True),
    ],
)
async def test_connection_header_and_version_decide_whether_a_connection_is_kept(client, raw, is_kept):
    await client.send(raw)
    assert client.codes == [200]
    assert (client.transport.end is None) is is_kept
    assert client.transport.written.startswith(b"HTTP/1.0") is (b"HTTP/1.0" in raw)


async def test_repeated_headers_are_not_parsed_again(client):
    """A verified token is looked up faster as the same bytes object, whose hash is cached."""
    for path, body in (("/a", b"abc"), ("/b?c=d%2Fe", b"\r\n\r"), ("/a", b"xyz")):
        await client.send(post(path, body, "Authorization: Bearer x"))
    bodies = [(path, query, body) for _, path, query, _, body, _ in client.app.requests]
    assert bodies == [("/a", b"", b"abc"), ("/b", b"c=d%2Fe", b"\r\n\r"), ("/a", b"", b"xyz")]
    first, *others = ([value for _, value in headers] for _, _, _, headers, *_ in client.app.requests)
    assert all(value is repeated for other in others for value, repeated in zip(first, other, strict=True))


async def test_idle_connection_is_closed_after_a_repeated_head(client):
    for _ in range(2):
        await client.send(request())
    await client.clock.advance(TIMEOUTS.idle)
    assert client.transport.end == "closed"


async def test_repeated_head_waits_for_its_body_for_a_limited_time(client):
    await client.send(post("/a", b"abc"))
    await client.send(post("/a", b"abc")[:-1])
    await client.clock.advance(TIMEOUTS.body)
    assert client.transport.end == "aborted"


async def test_repeated_head_beyond_the_limit_is_431(client):
    await client.send(request())
    await client.send(request("/" + "a" * limits.HEAD_BYTES_MAX))
    assert client.codes == [200, 431]


LINES = [
    *(
        b"GET / HTTP/1.1",
        b"HEAD /a/b?c=d HTTP/1.1",
        b"DELETE /a%20b HTTP/1.1",
        b"GET //x?y?z HTTP/1.1",
        b"PUT /a?b# HTTP/1.1",
    ),
    *(
        b"GET /a HTTP/1.0",
        b"GET /a HTTP/1.2",
        b"get /a HTTP/1.1",
        b"GET a HTTP/1.1",
        b"GET  /a HTTP/1.1",
        b"GET /%z HTTP/1.1",
    ),
    *(
        b"CONNECT a:1 HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"GET http://x/a HTTP/1.1",
        b"GET /a#b HTTP/1.1",
        "GET /ä HTTP/1.1".encode(),
    ),
    *(b"\r\nGET /a HTTP/1.1", b"GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1", b"GET /a HTTP/1.1\r\nContent-Length: 3", b""),
]
HEADERS = [
    b"A: 1",
    b"Expect: 100-continue",
    b"Connection: keep-alive",
    b"Connection: close",
    b"Transfer-Encoding: chunked",
]


@given(
    st.one_of(st.sampled_from(LINES), st.binary(max_size=30), st.from_regex(PLAIN_REQUEST_LINE, fullmatch=True)),
    st.lists(st.sampled_from([*HEADERS, b"Content-Length: 0", b"Content-Length: 7"]), unique=True),
)
def test_repeated_headers_have_the_result_of_a_new_connection(line, headers):
    body = b"0\r\n\r\nab" if b"Content-Length: 7" in headers else b"0\r\n\r\n" if HEADERS[-1] in headers else b""
    rest = b"\r\n".join([b"", b"Host: x", *headers, b"", body])

    async def both() -> None:
        first = await exchange([b"POST / HTTP/1.1" + rest])
        written, requests, is_closed = await exchange([b"POST / HTTP/1.1" + rest, line + rest])
        if first[2]:
            assert (written, requests, is_closed) == first
        else:
            alone = await exchange([line + rest])
            assert (written.removeprefix(first[0]), requests[1:], is_closed) == alone

    asyncio.run(both())


async def test_pipelined_requests_are_served_one_after_the_other(client):
    await client.send(request("/slow") + post("/a", b"abc") + request("/b"))
    assert [entry[1] for entry in client.app.requests] == ["/slow"]
    assert client.codes == []
    client.app.go.set()
    await client.settle()
    assert [entry[1] for entry in client.app.requests] == ["/slow", "/a", "/b"]
    assert client.codes == [200, 200, 200]


async def test_bytes_after_a_request_that_ends_the_connection_are_dropped(client):
    await client.send(request("/", "Connection: close") + request("/b"))
    assert client.codes == [200]
    assert len(client.app.requests) == 1


async def test_reading_pauses_while_too_many_pipelined_bytes_are_held(client):
    await client.send(request("/slow"))
    await client.send(request("/b", "h: " + "x" * limits.PIPELINED_BYTES_MAX))
    assert not client.transport.is_reading
    client.app.go.set()
    await client.settle()
    assert client.transport.is_reading
    assert client.codes == [200, 200]


async def test_lost_connection_ends_the_request_behind_which_others_are_pipelined(client):
    await client.send(request("/gone") + request("/b"))
    client.lose()
    await client.settle()
    assert [(entry[1], entry[-1]) for entry in client.app.requests] == [("/gone", "gone")]


# Bodies


async def test_reading_pauses_until_the_application_receives_the_body(client):
    client.app.takes_body.clear()
    size = 2 * limits.BODY_BYTES_MAX
    await client.send(request("/", f"Content-Length: {size}", method="POST"))
    await client.send(b"x" * (size - 1))
    assert not client.transport.is_reading
    client.app.takes_body.set()
    await client.settle()
    assert client.transport.is_reading
    await client.send(b"x")
    assert client.transport.written.endswith(b"%d" % size)


async def test_rest_of_a_body_is_dropped_after_the_response(client):
    await client.send(request("/ignore", "Content-Length: 10", method="POST") + b"01234")
    assert client.codes == [200]
    await client.send(b"56789" + request("/b"))
    assert client.codes == [200, 200]
    assert client.app.requests[1][1] == "/b"


async def test_connection_is_closed_when_too_much_of_a_body_is_dropped(client):
    size = limits.DISCARDED_BYTES_MAX + 2
    await client.send(request("/ignore", CHUNKED, method="POST"))
    await client.send(b"%x\r\n" % size + b"x" * (size - 1))
    assert client.transport.has_eof
    await client.clock.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


@pytest.mark.parametrize(
    ("dropped", "is_kept"), [(limits.DISCARDED_BYTES_MAX, True), (limits.DISCARDED_BYTES_MAX + 1, False)]
)
async def test_response_announces_the_end_of_the_connection_when_too_much_of_a_body_is_left(client, dropped, is_kept):
    await client.send(request("/ignore", f"Content-Length: {dropped}", method="POST"))
    assert client.codes == [200]
    assert (b"connection: close\r\n" not in client.transport.written) is is_kept


async def test_trailers_are_not_headers_of_this_or_the_next_request(client):
    await client.send(
        request("/a", CHUNKED, method="POST") + b"3\r\nabc\r\n0\r\nX-Remote-User: admin\r\n\r\n" + request("/b")
    )
    assert [entry[4] for entry in client.app.requests] == [b"abc", b""]
    names = [name for entry in client.app.requests for name, _ in entry[3]]
    assert b"x-remote-user" not in names


@pytest.mark.parametrize("overhead", [b"3;" + b"x" * 20_000 + b"\r\nabc\r\n", b"0\r\nA: " + b"x" * 20_000])
async def test_chunk_extensions_and_trailers_are_bounded(client, overhead):
    await client.send(request("/", CHUNKED, method="POST") + overhead)
    assert client.codes == [400]
    assert client.app.requests[0][-1] == "cut"


async def test_malformed_body_does_not_interrupt_a_started_response(client):
    await client.send(request("/begun", "Content-Length: 0", method="POST"))
    client.app.go.set()
    await client.settle()
    client.app.go.clear()
    await client.send(request("/ignore", CHUNKED, method="POST") + b"3\r\nabc")
    assert client.codes == [200, 200]
    await client.send(b"zz\r\n")
    assert client.codes == [200, 200]
    assert client.transport.has_eof


async def test_malformed_body_is_400_before_the_response_has_started(client):
    await client.send(request("/", CHUNKED, method="POST"))
    await client.send(b"zz\r\n")
    assert client.codes == [400]
    assert client.app.requests[0][-1] == "cut"


async def test_client_that_expects_100_continue_receives_it_for_each_body(client):
    head = post("/a", b"abc", "Expect: 100-continue")[:-3]
    for _ in range(2):
        await client.send(head)
        await client.send(b"abc")
    assert client.codes == [100, 200, 100, 200]


async def test_client_that_expects_100_continue_receives_it_when_the_body_is_read(client):
    await client.send(request("/", "Content-Length: 2", "Expect: 100-continue", method="POST"))
    assert client.transport.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    await client.send(b"ab")
    assert client.codes == [100, 200]
    assert client.transport.end is None


async def test_request_that_is_answered_in_place_of_100_continue_ends_the_connection(client):
    await client.send(request("/ignore", "Content-Length: 2", "Expect: 100-continue", method="POST"))
    assert client.codes == [200]
    assert b"connection: close" in client.transport.written
    await client.send(request("/b"))
    assert len(client.app.requests) == 1


@pytest.mark.parametrize(
    "raw",
    [
        request("/", "Expect: 100-continue"),
        request("/", "Expect: 100-continue", "Content-Length: 0", method="POST"),
        request("/", "Expect: 100-continue", "Content-Length: 2", method="POST", version="1.0") + b"ab",
    ],
)
async def test_100_continue_is_for_bodies_of_http_1_1_only(client, raw):
    await client.send(raw)
    assert client.codes == [200]


# Upgrades


async def test_upgraded_connection_is_handed_over_with_the_bytes_after_the_request(client):
    await client.send(request("/upgrade", "Connection: Upgrade", "Upgrade: echo") + b"early\xff")
    reader, writer = client.app.streams
    assert client.transport.protocol is not None
    assert client.state.connections == set()
    client.transport.protocol.data_received(b" late")
    assert await reader.readexactly(11) == b"early\xff late"
    writer.write(b"bytes")
    assert client.transport.written == b"bytes"


async def test_upgrade_that_is_not_accepted_is_answered_and_closed(client):
    await client.send(request("/", "Connection: Upgrade", "Upgrade: h2c") + request("/b"))
    assert client.codes == [200]
    assert b"connection: close" in client.transport.written
    assert len(client.app.requests) == 1


async def test_upgrade_that_is_not_accepted_has_its_body(client):
    await client.send(post("/", b"abc", "Connection: Upgrade", "Upgrade: h2c"))
    assert client.app.requests[0][4] == b"abc"
    assert client.codes == [200]


async def test_upgrade_with_a_chunked_body_is_400(client):
    await client.send(request("/", "Connection: Upgrade", "Upgrade: h2c", CHUNKED, method="POST") + b"0\r\n\r\n")
    assert client.codes == [400]
    assert client.app.requests == []


async def test_reading_pauses_while_too_many_bytes_wait_for_an_upgrade(client):
    client.app.takes_body.clear()
    await client.send(request("/upgrade", "Connection: Upgrade", "Upgrade: echo"))
    early = b"x" * (limits.PIPELINED_BYTES_MAX + 1)
    await client.send(early)
    assert not client.transport.is_reading
    client.app.takes_body.set()
    await client.settle()
    assert client.transport.is_reading
    assert await client.app.streams[0].readexactly(len(early)) == early


# Refusals


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (["Content-Length: 1", CHUNKED], 400),
        ([CHUNKED, "Content-Length: 1"], 400),
        (["Content-Length: 1", "Content-Length: 2"], 400),
        (["Content-Length: 1, 2"], 400),
        (["Content-Length: +1"], 400),
        (["Content-Length: -1"], 400),
        (["Content-Length: 0x1"], 400),
        (["Content-Length: "], 400),
        (["Content-Length: 99999999999999999999"], 400),
        (["Transfer-Encoding: xchunked"], 501),
        (["Transfer-Encoding: gzip, chunked"], 501),
        (["Transfer-Encoding: chunked, identity"], 501),
        ([CHUNKED, CHUNKED], 501),
        (["Transfer-Encoding:\x0bchunked"], 400),
        (["Transfer-Encoding : chunked"], 400),
        (["a: b\rc"], 400),
        (["a: b\r", "c: d"], 400),
        (["a: b\nc: d"], 400),
        (["a: b\r\n c"], 400),
        ([" a: b"], 400),
        ([": b"], 400),
        (["a"], 400),
        (["a b: c"], 400),
        (["a: \x00"], 400),
        (["a: \x7f"], 400),
        (["Expect: tea"], 417),
    ],
)
async def test_request_of_ambiguous_length_is_400_and_closes_the_connection(client, headers, code):
    await client.send(request("/", *headers, method="POST") + b"0\r\n\r\n" + request("/smuggled"))
    assert client.codes == [code]
    assert client.app.requests == []
    assert b"connection: close" in client.transport.written
    await client.send(request("/b"))
    assert client.app.requests == []


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"GET / HTTP/1.1\r\nHost: x\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\n",
        b"GET / HTTP/1.1\rHost: x\r\n\r\n",
        b"nonsense\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00",
        b"\xff",
        b" GET / HTTP/1.1\r\n",
        b"DESCRIBE / RTSP/1.0\r\nHost: x\r\n\r\n",
        b"GET / ICE/1.0\r\nHost: x\r\n\r\n",
    ],
)
async def test_malformed_request_line_is_400_at_once(client, raw):
    await client.send(raw)
    assert client.codes == [400]


async def test_refusal_is_written_after_the_responses_to_the_requests_before_it(client):
    await client.send(request("/slow") + b"nonsense\r\n\r\n")
    assert client.codes == []
    client.app.go.set()
    await client.settle()
    assert client.codes == [200, 400]


async def test_head_beyond_the_limit_is_431_also_if_it_comes_in_small_packets(client):
    raw = request("/", "h: " + "x" * limits.HEAD_BYTES_MAX)
    for start in range(0, len(raw), 50_000):
        client.connection.data_received(raw[start : start + 50_000])
    await client.settle()
    assert client.codes == [431]
    assert client.app.requests == []


@pytest.mark.parametrize(("count", "code"), [(limits.HEADERS_MAX - 1, 200), (limits.HEADERS_MAX, 431)])
async def test_number_of_headers_is_limited(client, count, code):
    await client.send(request("/", *(f"h{n}: x" for n in range(count))))
    assert client.codes == [code]


# Timeouts


async def test_client_that_sends_nothing_is_cut_off(client):
    await client.clock.advance(TIMEOUTS.head - 1)
    assert client.transport.end is None
    await client.clock.advance(1)
    assert client.transport.end == "aborted"


@pytest.mark.parametrize("part", [b"\r\n", b"G", b"GET / HTTP/1.1\r\nHost: x\r\n"])
@pytest.mark.parametrize("before", [b"", request()])
async def test_head_that_is_not_completed_in_time_is_cut_off(client, before, part):
    if before:
        await client.send(before)
    await client.send(part)
    for _ in range(4):  # further bytes do not extend the time
        await client.clock.advance(TIMEOUTS.head / 4 - 0.1)
        await client.send(b"\r\n" if part == b"\r\n" else b"x")
    assert client.transport.end is None
    await client.clock.advance(1)
    assert client.transport.end == "aborted"


@pytest.mark.parametrize("path", ["/", "/ignore"])
async def test_body_that_is_not_completed_in_time_is_cut_off(client, path):
    await client.send(request(path, "Content-Length: 9", method="POST"))
    await client.clock.advance(TIMEOUTS.body - 1)
    await client.send(b"x")
    assert client.transport.end is None
    await client.clock.advance(1)
    assert client.transport.end == "aborted"


async def test_no_timer_runs_for_a_request_while_its_response_takes_time(client):
    await client.send(request("/slow"))
    await client.clock.advance(10 * TIMEOUTS.body)
    assert client.transport.end is None


async def test_idle_connection_is_closed_after_the_last_pause_only(client):
    for _ in range(3):
        await client.send(request())
        await client.clock.advance(TIMEOUTS.idle - 1)
    assert client.transport.end is None
    await client.clock.advance(1)
    assert client.transport.end == "closed"


async def test_client_that_does_not_read_is_cut_off(client):
    client.connection.pause_writing()
    await client.clock.advance(TIMEOUTS.write_stall - 1)
    client.connection.resume_writing()
    client.connection.pause_writing()
    await client.clock.advance(TIMEOUTS.write_stall - 1)
    assert client.transport.end != "closed"
    assert client.connection.flow.write_paused
    await client.clock.advance(1)
    assert client.transport.end == "aborted"


async def test_closed_connection_is_aborted_when_the_client_does_not_read(client):
    client.transport.unsent = 1
    await client.send(request("/", "Connection: close"))
    assert client.transport.end == "closed"
    await client.clock.advance(TIMEOUTS.write_stall)
    assert client.transport.end == "aborted"


async def test_rejected_connection_drains_its_input_before_it_is_closed(client):
    await client.send(b"nonsense\r\n\r\n")
    assert client.transport.has_eof
    assert client.transport.end is None
    await client.send(b"x" * 100_000)
    assert client.transport.is_reading
    await client.clock.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


# Shutdown


async def test_shutdown_closes_an_idle_connection(client):
    await client.send(request())
    client.connection.shut_down()
    assert client.transport.end == "closed"
    client.connection.shut_down()


async def test_shutdown_closes_a_connection_after_its_response(client):
    await client.send(request("/slow"))
    client.connection.shut_down()
    assert client.transport.end is None
    client.app.go.set()
    await client.settle()
    assert client.codes == [200]
    assert b"connection: close" in client.transport.written
    assert client.transport.end == "closed"


async def test_connection_made_during_the_shutdown_is_closed():
    client = Client()
    client.state.is_draining = True
    client.connect()
    assert client.transport.end == "closed"
    client.lose()
    assert client.state.connections == set()


async def test_closed_returns_when_the_connection_is_lost(client):
    waiting = asyncio.create_task(client.connection.closed())
    await client.settle()
    assert not waiting.done()
    client.lose()
    await waiting


def connections() -> int:
    return sum(isinstance(item, ServerConnection) for item in gc.get_objects())


@pytest.mark.parametrize("path", ["/", "/slow", "/upgrade"])
async def test_lost_connection_is_freed_without_a_garbage_collection(path):
    gc.collect()
    before = connections()
    gc.disable()
    try:
        client = Client()
        client.connect()
        await client.send(request(path))
        client.app.go.set()
        client.lose()
        await client.settle()
        assert connections() == before + 1
        del client.connection
        assert connections() == before
    finally:
        gc.enable()


# Results do not depend on packets

MESSAGES = [
    request(),
    request("/a?b=c", "H: 1", "H: 2"),
    request("/a?d", "H: 1", "H: 2", method="DELETE"),
    request("/b", method="HEAD"),
    request("/ä?ö", "h: \xe4"),
    request("/", "Connection: close"),
    request(version="1.0"),
    request("/", "Connection: keep-alive", version="1.0"),
    post("/post", b"a\r\n\r\nb"),
    post("/post", "GET /ä HTTP/1.1\r\n\r\n".encode()),
    post("/post", b"\xff" * 300),
    request("/chunked", CHUNKED, method="POST") + b"3\r\nabc\r\n5;x=y\r\n\r\n\r\nz\r\n0\r\nT: v\r\n\r\n",
    request("/chunked", CHUNKED, method="POST") + b"0\r\n\r\n",
    request("/chunked", CHUNKED, method="POST") + b"3\r\nabcd\r\n",
    request("/", "Connection: Upgrade", "Upgrade: x"),
    post("/", b"abc", "Connection: Upgrade", "Upgrade: x"),
    post("/", b"abc", "Expect: 100-continue"),
    request("/", "Content-Length: 1", CHUNKED, method="POST"),
    b"\r\n\r\n",
    b"\n",
    b"nonsense\r\n\r\n",
    b"GET / HTTP/2.0\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\nHost: x\n\n",
    b"GET / HTTP/1.1\r\nHost: x\r\na: b\r\n c\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01",
    b"GET / HT",
]


async def exchange(packets: list[bytes]) -> tuple[bytes, list[Any], bool]:
    client = Client()
    client.connect()
    for packet in packets:
        await client.send(packet)
    for _ in range(5):
        await client.settle()
    result = client.transport.written, client.app.requests, client.transport.is_closing() or client.transport.has_eof
    client.lose()
    await client.settle()
    assert client.state.tasks == set()
    # How much of a request is received before its malformed part, and whether the client waits, depends on the packets.
    requests = [entry if entry[-1] == "complete" else [*entry[:4], entry[-1]] for entry in result[1]]
    return result[0].replace(b"HTTP/1.1 100 Continue\r\n\r\n", b""), requests, result[2]


@given(st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=5).map(b"".join), st.data())
@example(b"".join([MESSAGES[1], MESSAGES[8], MESSAGES[4], MESSAGES[11], MESSAGES[5]]), None)
def test_results_are_the_same_however_the_bytes_are_cut(raw, data):
    if data is None:
        cuts = set(range(1, len(raw)))
    else:
        cuts = data.draw(st.sets(st.integers(1, max(1, len(raw) - 1)), max_size=12))
    bounds = [0, *sorted(cuts), len(raw)]
    packets = [raw[start:end] for start, end in pairwise(bounds) if start < end]

    async def both() -> None:
        assert await exchange([raw]) == await exchange(packets)

    asyncio.run(both())
