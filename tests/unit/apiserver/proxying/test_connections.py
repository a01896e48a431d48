"""Requests over connections of their own, with valid and invalid responses."""

import asyncio
import ssl
from contextlib import asynccontextmanager

import pytest
from tests.unit.listening import closed_port, connected_to, listening

from steersman.apiserver.proxying.connections import Connections, DialError, Outgoing, end_to_end
from steersman.apiserver.proxying.kubelet import Location
from steersman.asynckit.clock import RealClock
from steersman.controlplane.pki import ensure_pki


@asynccontextmanager
async def response_to(raw_response: bytes, method: str = "GET", body: bytes = b""):
    received = []

    async def serve(reader, writer) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(raw_response)
        writer.close()

    async with listening(serve) as port:
        location = Location("127.0.0.1", str(port), scheme="http")
        sent = Outgoing(method=method, target="/p?q=1", headers=[(b"x-a", b"b")], body=body)
        answer = await Connections(RealClock()).round_trip(location, sent, as_kubelets_client=False)
        try:
            yield answer, received[0]
        finally:
            answer.close()


@pytest.mark.parametrize(
    ("raw_response", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", b"abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.0 200 OK\r\n\r\nabc", b"abc"),
    ],
)
async def test_body_is_framed_by_head(raw_response, body):
    async with response_to(raw_response) as (answer, received):
        assert (answer.code, await answer.text(100)) == (200, body)
        assert received.startswith(b"GET /p?q=1 HTTP/1.1\r\nhost: 127.0.0.1:")
        assert b"x-a: b\r\n" in received


async def test_response_to_head_has_no_body():
    async with response_to(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD") as (answer, _):
        assert await answer.text(100) == b""


async def test_incomplete_body_raises():
    async with response_to(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") as (answer, _):
        with pytest.raises(DialError, match="unexpected EOF"):
            await answer.text(100)


@pytest.mark.parametrize(("raw_response", "message"), [(b"", "EOF"), (b"no http\r\n\r\n", "malformed HTTP response")])
async def test_malformed_response_raises(raw_response, message):
    with pytest.raises(DialError, match=message):
        async with response_to(raw_response):
            pass


async def test_refused_connection_raises():
    with closed_port() as port:
        location = Location("127.0.0.1", str(port), scheme="http")
        with pytest.raises(DialError, match=rf"dial tcp 127.0.0.1:{port}: connect: "):
            await Connections(RealClock()).round_trip(
                location, Outgoing(method="GET", target="/"), as_kubelets_client=False
            )


@asynccontextmanager
async def through_a_proxy(refusal=b"", tls=None):
    """Yield a location behind a proxy, and the requests to the proxy."""
    received = []

    async def page(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")

    async def proxy(reader, writer):
        received.append(await reader.readuntil(b"\r\n\r\n"))
        if refusal:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n%s" % (len(refusal), refusal))
            return
        async with connected_to("127.0.0.1", pod) as (pod_reader, pod_writer):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await asyncio.gather(copy(reader, pod_writer), copy(pod_reader, writer))

    async def copy(source, target):
        while data := await source.read(1000):
            target.write(data)

    scheme = "https" if tls else "http"
    async with listening(page, tls=tls) as pod, listening(proxy, tls=tls) as port:
        way = Location("127.0.0.1", str(port), scheme=scheme)
        yield Location("10.1.2.3", "8080", scheme=scheme, way=way), received


@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_dial_connects_through_proxy(is_encrypted, tmp_path):
    tls = None
    if is_encrypted:
        pki = ensure_pki(tmp_path, ["127.0.0.1"], now=RealClock().now())
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(pki.server.certificate, pki.server.key)
    async with through_a_proxy(tls=tls) as (location, received):
        connections = Connections(RealClock())
        answer = await connections.round_trip(location, Outgoing(method="GET", target="/"), as_kubelets_client=False)
        assert (answer.code, await answer.text(100)) == (200, b"page")
    assert received == [f"CONNECT 10.1.2.3:8080 HTTP/1.1\r\nhost: {location.way.authority}\r\n\r\n".encode()]


async def test_dial_reports_error_of_proxy():
    async with through_a_proxy(b"connect: connection refused") as (location, _):
        with pytest.raises(DialError, match=r"^dial tcp 10\.1\.2\.3:8080: connect: connection refused$"):
            await Connections(RealClock()).round_trip(
                location, Outgoing(method="GET", target="/"), as_kubelets_client=False
            )


def test_end_to_end_drops_hop_by_hop_headers():
    headers = [(b"connection", b"X-Mine, close"), (b"x-mine", b"1"), (b"te", b"gzip"), (b"x-all", b"2")]
    assert end_to_end(headers) == [(b"x-all", b"2")]
