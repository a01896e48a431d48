"""Real connections: TLS, misbehaving clients, and shutdown."""

import asyncio
import random
import re
import ssl
from contextlib import asynccontextmanager, closing, nullcontext

import pytest
from tests.busy_machine import HANG_SECONDS, advance_until
from tests.unit.listening import hang_up

from steersman.apiserver.filters.errors import errors
from steersman.apiserver.filters.request_info import request_info
from steersman.apiserver.http import Request, Response
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.http1.handshakes import HANDSHAKE_SECONDS, Handshakes
from steersman.apiserver.server.http1.limits import HEAD_BYTES_MAX, WRITE_BYTES_MAX, Timeouts
from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.apiserver.server.http1.tls import TLSFiles, tls_context
from steersman.asynckit.clock import Clock, FakeClock, RealClock
from steersman.asynckit.tls_policy import TLSPolicy
from steersman.controlplane.pki import ensure_pki

#: Below the buffer size at which writers wait.
PART = 32 << 10


class Handler:
    """Handler that responds by path."""

    def __init__(self) -> None:
        self.extensions: dict = {}
        self.scope: dict = {}
        self.go = asyncio.Event()
        self.parts: list[Request] = []

    async def __call__(self, request: Request) -> Response:
        self.extensions = request.scope.get("extensions", {})
        self.scope = dict(request.scope)
        match request.path:
            case "/body":
                return Response(200, b"%d" % len(await request.body()))
            case "/slow":
                await self.go.wait()
            case "/endless":
                return Response(200, stream=self._endless())
            case "/huge":
                return Response(200, stream=self._endless(8 << 20))
            case "/part":
                self.parts.append(request)
                return Response(200, b"x" * PART)
            case "/pushed":
                return Response(200, stream=Pushing())
        return Response(200, b"hello")

    async def _endless(self, size: int = 65536):
        while True:
            yield b"x" * size


class Pushing:
    """Stream that pushes its first pieces itself."""

    def attach(self, push) -> None:
        self.push, self.remaining = push, [b"three\n"]

    def __aiter__(self):
        return self

    async def __anext__(self) -> bytes:
        if not self.remaining:
            raise StopAsyncIteration
        assert self.push(b"one\n")
        assert self.push(b"two\n")
        return self.remaining.pop()


class Running:
    def __init__(self, serving: Serving, app: Application, handler: Handler, port: int) -> None:
        self.serving, self.app, self.handler, self.port = serving, app, handler, port
        self.writers = []

    async def connect(self, **more):
        """Open a connection that is closed when the server stops."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, **more)
        self.writers.append(writer)
        return reader, writer

    async def until_busy(self) -> None:
        """Wait until a request is being served."""
        async with asyncio.timeout(HANG_SECONDS):
            while not self.app.busy:  # noqa: ASYNC110 — there is no event
                await asyncio.sleep(0.01)  # noqa: TID251

    async def ask(self, raw: bytes, **more) -> bytes:
        """Return the answer to ``raw`` up to the end of the connection; empty if the connection is aborted."""
        reader, writer = await self.connect(**more)
        try:
            writer.write(raw)
            return await asyncio.wait_for(reader.read(), HANG_SECONDS)
        except (ssl.SSLError, ConnectionError):
            return b""
        finally:
            await hang_up(writer)


@asynccontextmanager
async def serving(
    tls: ssl.SSLContext | None = None, *, clock: Clock | None = None, handshakes: Handshakes | None = None
):
    handler, clock = Handler(), clock or RealClock()
    app = Application(errors()(request_info()(handler)), clock=clock)
    new_serving = Serving(app, clock=clock, handshakes=handshakes)
    sock = listen("127.0.0.1", 0)
    await new_serving.start(sock, tls)
    running = Running(new_serving, app, handler, sock.getsockname()[1])
    try:
        yield running
    finally:
        for writer in running.writers:
            await hang_up(writer)
        handler.go.set()
        app.end_watches()
        await new_serving.stop(grace_seconds=0)


def request(path: str, *headers: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


CLOSE = "Connection: close"


async def test_plain_requests_share_a_connection():
    async with serving() as server:
        answer = await server.ask(request("/a") + request("/b", CLOSE))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert b"\r\ndate: " in answer


def client_context(pki) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=pki.ca.certificate)


async def test_client_certificates_are_in_scope(pki):
    tls = tls_context(TLSFiles(pki.server.certificate, pki.server.key, (pki.ca.certificate,)))
    context = client_context(pki)
    async with serving(tls) as server:
        for expected in (None, "CN=kubernetes-admin,O=system:masters"):
            reader, writer = await server.connect(ssl=context, server_hostname="localhost")
            writer.write(request("/", CLOSE))
            assert b"200 OK" in await reader.read()
            assert server.handler.extensions["tls"]["client_cert_name"] == expected
            context.load_cert_chain(pki.admin.certificate, pki.admin.key)
    assert server.handler.extensions["tls"]["client_cert_chain"][0].startswith("-----BEGIN CERTIFICATE-----")
    assert server.handler.extensions["tls"]["tls_version"] == 0x0304


@pytest.mark.parametrize(("offered", "is_accepted"), [(ssl.TLSVersion.TLSv1_2, False), (ssl.TLSVersion.TLSv1_3, True)])
async def test_tls_versions_below_minimum_are_rejected(pki, offered, is_accepted):
    policy = TLSPolicy("VersionTLS13")
    tls = tls_context(TLSFiles(pki.server.certificate, pki.server.key, policy=policy))
    context = client_context(pki)
    context.maximum_version = offered
    async with serving(tls) as server:
        with nullcontext() if is_accepted else pytest.raises((ssl.SSLError, ConnectionError)):
            await server.connect(ssl=context, server_hostname="localhost")


async def test_failed_handshakes_are_counted(pki):
    clock = FakeClock()
    handshakes = Handshakes(clock)
    tls = tls_context(TLSFiles(pki.server.certificate, pki.server.key))
    async with serving(tls, clock=clock, handshakes=handshakes) as server:
        await server.ask(b"no TLS at all, and long enough for a record\r\n\r\n")
        answer = await server.ask(request("/", CLOSE), ssl=client_context(pki), server_hostname="localhost")
        await clock.advance(2 * HANDSHAKE_SECONDS)
        assert (handshakes.failed, answer[:15]) == (1, b"HTTP/1.1 200 OK")


async def test_port_is_shared_only_on_request():
    with closing(listen("127.0.0.1", 0, shares_port=True)) as first:
        port = first.getsockname()[1]
        listen("127.0.0.1", port, shares_port=True).close()
        with pytest.raises(OSError, match="in use"):
            listen("127.0.0.1", port)


async def test_alpn_offers_http_1_1_only(pki):
    tls = tls_context(TLSFiles(pki.server.certificate, pki.server.key))
    context = client_context(pki)
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with serving(tls) as server:
        _, writer = await server.connect(ssl=context, server_hostname="localhost")
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"


async def test_certificate_of_unknown_ca_is_handed_over_with_an_error(pki, tmp_path):
    foreign = ensure_pki(tmp_path, ["localhost"], now=RealClock().now())
    tls = tls_context(TLSFiles(pki.server.certificate, pki.server.key, (pki.ca.certificate,)))
    context = client_context(pki)
    context.load_cert_chain(foreign.admin.certificate, foreign.admin.key)
    async with serving(tls) as server:
        answer = await server.ask(request("/", CLOSE), ssl=context, server_hostname="localhost")
    assert answer.startswith(b"HTTP/1.1 200 ")
    tls = server.handler.extensions["tls"]
    assert tls["client_cert_error"].startswith("x509: certificate signed by unknown authority")
    assert (tls["client_cert_name"], tls["client_cert_authorities"]) == (None, frozenset())


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_other_protocols_get_400_or_closed_connection(raw):
    async with serving() as server:
        answer = await server.ask(raw)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
        assert b"200 OK" in await server.ask(request("/", CLOSE))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    "malformed", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
)
async def test_requests_before_malformed_bytes_are_answered_first(count, malformed):
    async with serving() as server:
        answer = await server.ask(request("/") * count + malformed)
    codes = re.findall(rb"HTTP/1\.1 ([0-9]+) ", answer)
    assert codes == [b"200"] * count + [b"400"]


async def test_too_many_headers_are_rejected():
    async with serving() as server:
        answer = await server.ask(request("/", *(f"h{n}: x" for n in range(1001))))
    assert answer.startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("path", ["/", "/" + "x" * HEAD_BYTES_MAX])
async def test_complete_oversized_head_is_431(path):
    async with serving() as server:
        size = HEAD_BYTES_MAX - len(path) + 1
        assert (await server.ask(request(path, f"h: {'x' * size}", CLOSE))).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400 Bad Request: missing required Host header"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", b"400 Bad Request: malformed Host header"),
        (b"GET /\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/0.9\r\nHost: x\r\n\r\n", b"505 HTTP Version Not Supported: unsupported protocol version"),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", b"505 HTTP Version Not Supported: unsupported protocol version"),
        (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", b"505 HTTP Version Not Supported: unsupported protocol version"),
        (
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"505 HTTP Version Not Supported: unsupported protocol version",
        ),
        (b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", b"400 Bad Request"),
        (b"GET a HTTP/1.1\r\nHost: x\r\n\r\n", b"400 Bad Request"),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n", b"400 Bad Request"),
    ],
)
async def test_rejections_match_net_http(raw, answer):
    async with serving() as server:
        received = await server.ask(raw)
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + answer + b"\r\n")
    assert b"connection: close" in head
    assert body == answer


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/\xc3\xa4?b=\xc3\xb6", "/ä", b"b=%C3%B6"),
        (b"/%C3%A4", "/ä", b""),
        (b"/a#b", "/a#b", b""),
        (b"/a?b#c", "/a", b"b#c"),
        (b"/a?b=%zz", "/a", b"b=%zz"),
        (b"//api", "//api", b""),
        (b"http://other/api?x", "/api", b"x"),
        (b"*", "*", b""),
    ],
)
async def test_request_target_becomes_path_and_query(target, path, query):
    async with serving() as server:
        await server.ask(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (server.handler.scope["path"], server.handler.scope["query_string"]) == (path, query)


async def test_escaped_request_line_is_parsed_once_on_kept_connection():
    async with serving() as server:
        answer = await server.ask(request("/a") + request("/b", CLOSE))
        assert answer.count(b"200 OK") == 2
        reader, writer = await server.connect()
        for raw in (request("/first"), request("/zweite/ä"), request("/third", CLOSE)):
            writer.write(raw)
            await writer.drain()
            await asyncio.wait_for(reader.readuntil(b"hello"), HANG_SECONDS)
        assert server.handler.scope["path"] == "/third"


async def test_options_of_server_is_empty_200():
    async with serving() as server:
        answer = await server.ask(b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"content-length: 0\r\n\r\n")


async def test_endless_head_is_rejected():
    async with serving() as server:
        reader, writer = await server.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nh: ")
        writer.write(b"x" * (HEAD_BYTES_MAX + 65536))
        assert (await asyncio.wait_for(reader.read(), HANG_SECONDS)).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab",
    ],
)
async def test_incomplete_request_is_cut_off(raw):
    clock = FakeClock()
    async with serving(clock=clock) as server:
        asking = asyncio.create_task(server.ask(raw))
        await advance_until(asking.done, clock)
        assert await asking == b""


async def test_empty_lines_do_not_keep_connection_open():
    clock = FakeClock()
    async with serving(clock=clock) as server:
        reader, writer = await server.connect()
        writer.write(request("/"))
        assert (await asyncio.wait_for(reader.readuntil(b"hello"), HANG_SECONDS)).startswith(b"HTTP/1.1 200")
        writer.write(b"\r\n")
        rest = asyncio.create_task(reader.read())
        await advance_until(rest.done, clock)
        assert await rest == b""
    assert clock.monotonic() < Timeouts().idle


async def test_slow_but_complete_request_is_served():
    async with serving() as server:
        reader, writer = await server.connect()
        for piece in (
            b"POST /body HTTP/1.1\r\nHo",
            b"st: x\r\nConnection: close\r\nContent-Length: 4\r\n",
            b"\r\nab",
            b"cd",
        ):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)  # noqa: TID251
        assert (await asyncio.wait_for(reader.read(), HANG_SECONDS)).endswith(b"\r\n\r\n4")


async def test_oversized_body_is_413():
    async with serving() as server:
        raw = request("/body", "Content-Length: 4000000", CLOSE, method="POST")
        assert b"413" in (await server.ask(raw)).splitlines()[0]


async def test_half_closed_connection_is_closed():
    async with serving() as server:
        reader, writer = await server.connect()
        writer.write(request("/slow"))
        await writer.drain()
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), HANG_SECONDS) == b""


async def test_unread_stream_is_bounded_and_cut_off():
    clock = FakeClock()
    async with serving(clock=clock) as server:
        _, writer = await server.connect(limit=1024)
        writer.transport.pause_reading()
        writer.write(request("/endless"))
        await server.until_busy()
        connection = next(iter(server.serving.connections))
        await until_paused(connection)
        assert 0 < connection.transport.get_write_buffer_size() < 1 << 20
        await advance_until(lambda: not server.app.busy, clock)


async def until_paused(connection) -> None:
    """Wait until the server writes no more, as the client does not read."""
    async with asyncio.timeout(HANG_SECONDS):
        while not connection.flow.write_paused:  # noqa: ASYNC110 — there is no event
            await asyncio.sleep(0.01)  # noqa: TID251


@pytest.mark.parametrize("path", ["/endless", "/huge"])
async def test_tls_connection_buffers_little_for_a_client_that_does_not_read(pki, path):
    server_tls = tls_context(TLSFiles(pki.server.certificate, pki.server.key))
    client_tls = ssl.create_default_context(cafile=str(pki.ca.certificate))
    async with serving(server_tls) as server:
        _, writer = await server.connect(limit=1024, ssl=client_tls)
        writer.transport.pause_reading()
        writer.write(request(path))
        await server.until_busy()
        connection = next(iter(server.serving.connections))
        await until_paused(connection)
        assert 0 < connection.transport.get_write_buffer_size() <= 3 * WRITE_BYTES_MAX


async def test_pushed_pieces_are_part_of_response():
    async with serving() as server:
        answer = await server.ask(request("/pushed", CLOSE))
    assert answer.endswith(b"\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n6\r\nthree\n\r\n0\r\n\r\n")


async def test_unsupported_upgrade_is_answered_and_closed():
    async with serving() as server:
        headers = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
        answer = await server.ask(request("/", *headers))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"hello")


async def test_stop_finishes_running_requests_and_accepts_none():
    async with serving() as server:
        reader, writer = await server.connect()
        idle_reader, _ = await server.connect()
        writer.write(request("/slow"))
        await server.until_busy()
        stopping = asyncio.create_task(server.serving.stop(grace_seconds=HANG_SECONDS))
        assert await asyncio.wait_for(idle_reader.read(), HANG_SECONDS) == b""
        with pytest.raises(ConnectionError):
            await server.connect()
        server.handler.go.set()
        answer = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        await stopping
        assert answer.endswith(b"hello")


async def test_stop_sends_rest_of_unread_response():
    async with serving() as server:
        reader, writer = await server.connect()
        writer.transport.pause_reading()
        count = unsent = 0
        async with asyncio.timeout(HANG_SECONDS):
            while not unsent:  # until the buffers of both sockets are full
                writer.write(request("/part"))
                count += 1
                while len(server.handler.parts) < count or server.app.busy:  # noqa: ASYNC110 — there is no event
                    await asyncio.sleep(0)  # noqa: TID251
                await asyncio.sleep(0)  # noqa: TID251 — the response is written
                unsent = next(iter(server.serving.connections)).transport.get_write_buffer_size()
        stopping = asyncio.create_task(server.serving.stop(grace_seconds=HANG_SECONDS))
        await asyncio.sleep(0)  # noqa: TID251 — it waits
        writer.transport.resume_reading()
        answer = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        await stopping
    assert answer.count(b"x" * PART) == count


async def test_stop_waits_no_longer_than_grace_period():
    async with serving() as server:
        asking = asyncio.create_task(server.ask(request("/slow")))
        await server.until_busy()
        await server.serving.stop(grace_seconds=0.05)
        assert await asking == b""


def garbled(dice: random.Random) -> bytes:
    """Return a request with some bytes changed, removed, repeated or inserted."""
    raw = bytearray(
        request("/body?a=b", "Content-Length: 4", "Transfer-Encoding: chunked", CLOSE, method="POST")
        + b"2\r\nab\r\n0\r\n\r\n"
    )
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(raw) or 1)
        raw[at : at + dice.randrange(3)] = dice.choice(
            [b"", b"\x00", b"\r\n", b":", b" ", b"\xff", dice.randbytes(3), raw[:20]]
        )
    return bytes(raw)


@pytest.mark.parametrize("seed", range(3))
async def test_garbled_requests_do_not_affect_other_connections(seed, caplog):
    dice, clock = random.Random(seed), FakeClock()
    async with serving(clock=clock) as server:
        asking = asyncio.gather(*(server.ask(garbled(dice)) for _ in range(100)))
        await advance_until(asking.done, clock)
        answers = await asking
        assert b"hello" in await server.ask(request("/", CLOSE))
    codes = {answer[9:12] for answer in answers}
    assert {code for code in codes if code[:1] not in (b"2", b"4")} <= {b"", b"501", b"505"}
    assert [record for record in caplog.records if record.exc_info] == []
