"""One request over a connection of its own, to somebody who answers well or badly."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from steersman.apiserver.endpoints.connections import Connections, DialError, Outgoing, end_to_end
from steersman.apiserver.endpoints.kubelet import Location
from steersman.asynckit.clock import RealClock


@asynccontextmanager
async def asked(said: bytes, method: str = "GET", body: bytes = b""):
    heard = []

    async def serve(reader, writer) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    location = Location("127.0.0.1", str(server.sockets[0].getsockname()[1]), scheme="http")
    sent = Outgoing(method=method, target="/p?q=1", headers=[(b"x-a", b"b")], body=body)
    try:
        answer = await Connections(RealClock()).ask(location, sent, as_kubelets_client=False)
        yield answer, heard[0]
        answer.close()
    finally:
        server.close()


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", b"abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.0 200 OK\r\n\r\nabc", b"abc"),
    ],
)
async def test_the_body_comes_as_its_head_says(said, body):
    async with asked(said) as (answer, heard):
        assert (answer.code, await answer.text(100)) == (200, body)
        assert heard.startswith(b"GET /p?q=1 HTTP/1.1\r\nhost: 127.0.0.1:")
        assert b"x-a: b\r\n" in heard


async def test_the_answer_to_head_has_no_body():
    async with asked(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD") as (answer, _):
        assert await answer.text(100) == b""


async def test_a_body_that_breaks_off_is_an_error():
    async with asked(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") as (answer, _):
        with pytest.raises(DialError, match="unexpected EOF"):
            await answer.text(100)


@pytest.mark.parametrize(("said", "why"), [(b"", "EOF"), (b"no http\r\n\r\n", "malformed HTTP response")])
async def test_what_is_no_answer_is_an_error(said, why):
    with pytest.raises(DialError, match=why):
        async with asked(said):
            pass


async def test_nobody_listens():
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    location = Location("127.0.0.1", str(port), scheme="http")
    with pytest.raises(DialError, match=rf"dial tcp 127.0.0.1:{port}: connect: "):
        await Connections(RealClock()).ask(location, Outgoing(method="GET", target="/"), as_kubelets_client=False)


def test_headers_of_one_connection_stay_there():
    headers = [(b"connection", b"X-Mine, close"), (b"x-mine", b"1"), (b"te", b"gzip"), (b"x-all", b"2")]
    assert end_to_end(headers) == [(b"x-all", b"2")]
