import asyncio
import socket
from contextlib import AsyncExitStack

import pytest
from tests.unit import serving_certificates
from tests.unit.listening import connected_to

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.asynckit.serving_tls import make_context
from steersman.controlplane.serving_certificates import make_self_signed
from steersman.runtime import http
from steersman.runtime.http import HttpServer, ListenError, Page


async def ask(port, request):
    async with connected_to("127.0.0.1", port) as (reader, writer):
        writer.write(request)
        return await reader.read()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def server(clock):
    async with HttpServer(host="127.0.0.1", port=0, clock=clock) as running:

        async def hello(query):
            return Page(200, f"hello {query.get('name', 'nobody')}".encode())

        async def broken(query):
            raise RuntimeError("page is broken")

        running.add("/hello", hello)
        running.add("/broken", broken)
        yield running


async def test_page_receives_the_query(server):
    answer = await ask(server.port, b"GET /hello?name=you HTTP/1.1\r\nhost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 9\r\n")
    assert answer.endswith(b"connection: close\r\n\r\nhello you")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /missing HTTP/1.1", b"404 Not Found"),
        (b"POST /hello HTTP/1.1", b"405 Method Not Allowed"),
        (b"nonsense", b"400 Bad Request"),
        (b"GET /broken HTTP/1.1", b"500 Internal Server Error"),
    ],
)
async def test_unsupported_requests_get_error_responses(server, request_line, status):
    answer = await ask(server.port, request_line + b"\r\n\r\n")
    assert answer.split(b"\r\n")[0] == b"HTTP/1.1 " + status


@pytest.fixture
def putting(server):
    """Server with pages of all methods, and of all paths below a prefix."""

    async def put(request):
        return Page(200, f"{request.method} {request.body.decode()}".encode())

    async def below(request):
        return Page(200, request.path.encode())

    server.add_for_request("/put", put, has_any_method=True)
    server.add_prefix("/below/", below)
    return server


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        (b"PUT /put HTTP/1.1\r\ncontent-length: 3\r\n\r\n123", b"PUT 123"),
        (b"PUT /put HTTP/1.1\r\n\r\n", b"PUT "),
        (b"POST /put HTTP/1.1\r\n\r\n", b"POST "),
        (b"PUT /put HTTP/1.1\r\ncontent-length: x\r\n\r\n", b"bad request\n"),
        (b"PUT /put HTTP/1.1\r\ncontent-length: 4097\r\n\r\n", b"request body too large\n"),
        (b"PUT /put HTTP/1.1\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n", b"request body too large\n"),
        (b"PUT /hello HTTP/1.1\r\n\r\n", b"method not allowed\n"),
        (b"GET /below/a/b HTTP/1.1\r\n\r\n", b"/below/a/b"),
        (b"PUT /below/a/b HTTP/1.1\r\n\r\n", b"method not allowed\n"),
    ],
)
async def test_methods_bodies_and_prefixes(putting, head, answer):
    assert (await ask(putting.port, head)).partition(b"\r\n\r\n")[2] == answer


async def test_head_has_no_body(server):
    answer = await ask(server.port, b"HEAD /hello HTTP/1.1\r\n\r\n")
    assert b"content-length: 12\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_oversized_head_is_rejected(server):
    assert await ask(server.port, b"GET /hello HTTP/1.1\r\nx: " + b"y" * 9000 + b"\r\n\r\n") == b""


async def test_silent_connection_is_closed(server, clock):
    async with connected_to("127.0.0.1", server.port) as (reader, writer):
        writer.write(b"GET /hel")
        closed = asyncio.create_task(reader.read())
        while not clock.waiting:
            await clock.advance(0)
        await clock.advance(10)
        assert await closed == b""


async def test_there_is_a_bound_on_connections(server, clock, monkeypatch):
    monkeypatch.setattr(http, "CONNECTIONS_MAX", 1)
    async with connected_to("127.0.0.1", server.port):
        while not clock.waiting:
            await clock.advance(0)
        assert await ask(server.port, b"") == b""


async def test_leaving_hangs_up_on_open_connections(clock):
    async with AsyncExitStack() as connections:
        async with HttpServer(host="127.0.0.1", port=0, clock=clock) as server:
            reader, _ = await connections.enter_async_context(connected_to("127.0.0.1", server.port))
            while not clock.waiting:
                await clock.advance(0)
        assert await reader.read() == b""


async def show(request):
    """Answer every request with its authenticated facts."""
    subject = "invalid" if request.is_certificate_invalid else (request.client_certificate or {}).get("subject")
    return Page(403, f"{request.method} {request.path} {request.headers.get('authorization')} {subject}".encode())


async def test_guard_answers_before_pages_are_looked_up(clock):
    async with HttpServer(host="127.0.0.1", clock=clock, guard=show) as server:
        request = b"POST /a?b=c HTTP/1.1\r\nAuthorization: Bearer x\r\nauthorization: second\r\n\r\n"
        answer = await ask(server.port, request)
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert answer.endswith(b"POST /a Bearer x None")


async def test_malformed_header_is_400(server):
    assert (await ask(server.port, b"GET /hello HTTP/1.1\r\n folded\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


async def ask_securely(port, tls):
    async with connected_to("127.0.0.1", port, tls=tls) as (reader, writer):
        writer.write(b"GET /hello HTTP/1.1\r\n\r\n")
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return certificate, await reader.read()


async def test_tls_hands_client_certificates_to_the_guard(clock, tmp_path):
    authority = serving_certificates.make_authority()
    pair = make_self_signed("test", "", now=RealClock().now())
    tls = make_context(pair, authority.certificate.decode())
    client = serving_certificates.client_context(tmp_path, authority, user="ann", groups=("team",))
    async with HttpServer(host="127.0.0.1", clock=clock, guard=show, tls=tls) as server:
        _, answer = await ask_securely(server.port, client)
        _, anonymous = await ask_securely(server.port, serving_certificates.client_context(tmp_path))
    assert b"('organizationName', 'team')" in answer
    assert b"('commonName', 'ann')" in answer
    assert anonymous.endswith(b"GET /hello None None")


async def test_certificate_of_other_authority_is_handed_over_as_invalid(clock, tmp_path):
    pair = make_self_signed("test", "", now=RealClock().now())
    tls = make_context(pair, serving_certificates.make_authority().certificate.decode())
    foreign = serving_certificates.make_authority()
    client = serving_certificates.client_context(tmp_path, foreign, user="ann", groups=("system:masters",))
    async with HttpServer(host="127.0.0.1", clock=clock, guard=show, tls=tls) as server:
        _, answer = await ask_securely(server.port, client)
    assert answer.endswith(b"GET /hello None invalid")


async def test_certificate_is_replaced_for_new_connections(clock, tmp_path):
    now = RealClock().now()
    client = serving_certificates.client_context(tmp_path)
    first, second = (make_context(make_self_signed("test", "", now=now), "") for _ in range(2))
    async with HttpServer(host="127.0.0.1", clock=clock, guard=show, tls=first) as server:
        port = server.port
        before, _ = await ask_securely(port, client)
        await server.replace_tls(second)
        after, answer = await ask_securely(port, client)
    assert server.port == 0
    assert before != after
    assert answer


def test_bound_server_has_a_port_and_may_be_closed_unused(clock):
    server = HttpServer(host="127.0.0.1", clock=clock)
    server.bind()
    assert server.port
    server.close()
    assert server.port == 0


async def test_bind_reports_a_port_in_use_in_one_line(clock):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"^cannot listen on 127.0.0.1 port {port}: address already in use$"):
            HttpServer(host="127.0.0.1", port=port, clock=clock).bind()
