"""Choice of the protocol by ALPN, over real sockets with TLS."""

import asyncio
import ssl

import httpx
import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.server.http2.conftest import App
from tests.unit.http2_peer import Http2Peer
from tests.unit.listening import connected_to

from steersman.apiserver.server.http1.handshakes import Handshakes
from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.apiserver.server.http1.tls import TLSFiles, tls_context
from steersman.apiserver.server.http2.negotiation import ALPN_PROTOCOLS, negotiated
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.pki import ensure_pki, server_names


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return ensure_pki(tmp_path_factory.mktemp("pki"), server_names("10.0.0.0/24"), now=RealClock().now())


@pytest.fixture
async def served(pki):
    """Port of a server with both protocols, its application, and its handshakes."""
    clock, app = FakeClock(), App()
    handshakes = Handshakes(clock)
    serving = Serving(app, clock=clock, handshakes=handshakes, new_connection=negotiated(10))
    sock = listen("127.0.0.1", 0)
    files = TLSFiles(pki.server.certificate, pki.server.key, (pki.ca.certificate,), alpn=ALPN_PROTOCOLS)
    await serving.start(sock, tls_context(files))
    yield sock.getsockname()[1], app, handshakes, serving
    await serving.stop(grace_seconds=0)


def client_tls(pki, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=pki.ca.certificate)
    context.load_cert_chain(pki.admin.certificate, pki.admin.key)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


@pytest.mark.parametrize(
    ("offered", "selected"), [(("h2", "http/1.1"), "h2"), (("http/1.1",), "http/1.1"), ((), None), (("spdy/3",), None)]
)
async def test_protocol_is_the_one_that_alpn_selects(served, pki, offered, selected):
    port, _, _, serving = served
    async with connected_to("127.0.0.1", port, tls=client_tls(pki, *offered)) as (reader, writer):
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == selected
        if selected == "h2":
            assert (await asyncio.wait_for(reader.readexactly(9), HANG_SECONDS))[3] == 4  # SETTINGS
        else:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await asyncio.wait_for(reader.readline(), HANG_SECONDS)) == b"HTTP/1.1 200 OK\r\n"
        assert len(serving.connections) == 1


async def test_client_certificate_is_in_the_scope_of_http2(served, pki):
    port, app, *_ = served
    async with httpx.AsyncClient(http2=True, verify=client_tls(pki), timeout=HANG_SECONDS) as client:
        responses = await asyncio.gather(*(client.get(f"https://127.0.0.1:{port}/") for _ in range(20)))
    assert {(response.http_version, response.status_code) for response in responses} == {("HTTP/2", 200)}
    assert {scope["http_version"] for scope in app.scopes} == {"2"}
    assert app.scopes[0]["extensions"]["tls"]["client_cert_name"]
    assert app.scopes[0]["scheme"] == "https"


async def test_shutdown_completes_the_requests_of_http2(served, pki):
    port, app, _, serving = served
    peer = Http2Peer()
    async with connected_to("127.0.0.1", port, tls=client_tls(pki, "h2")) as (reader, writer):
        writer.write(peer.preface() + peer.headers("GET", "/slow"))
        async with asyncio.timeout(HANG_SECONDS):
            while not app.requests:
                peer.feed(await reader.read(1000))
            stopping = asyncio.ensure_future(serving.stop(grace_seconds=HANG_SECONDS))
            while not peer.goaways:
                peer.feed(await reader.read(1000))
            app.go.set()
            while not peer.stream(1).is_ended:
                peer.feed(await reader.read(1000))
            await stopping
    assert peer.stream(1).code == 200
    assert not serving.connections


async def test_handshake_counts_as_complete(served, pki):
    port, _, handshakes, _ = served
    async with connected_to("127.0.0.1", port, tls=client_tls(pki, "h2")) as (reader, _):
        await asyncio.wait_for(reader.readexactly(9), HANG_SECONDS)
    await handshakes._clock.advance(60)
    assert handshakes.failed == 0
