"""aiohttp transport over real sockets, against a minimal server."""

import asyncio
import gc
import json
import socket
import ssl
import subprocess
import sys
import threading
import warnings
from contextlib import asynccontextmanager

import pytest
from tests.unit.listening import listening

from steersman.asynckit.clock import RealClock
from steersman.client.aiohttp_transport import AiohttpTransport, proxy_from, tls_context
from steersman.client.credentials import ConfigError, Identity, StaticCredentials
from steersman.client.kubeconfig import ClusterAccess
from steersman.client.transport import Request, TransportError
from steersman.controlplane.pki import ensure_pki

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nwarning: one\r\nwarning: two\r\n\r\n{}"
REFUSED = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\n{}"
CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n"


class Server:
    """Responds to each request with the next of its answers; None closes the connection."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.heads = []
        self.connections = 0

    async def serve(self, reader, writer):
        self.connections += 1
        while self.answers:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
            except asyncio.IncompleteReadError:
                break
            length = [line for line in head.lower().splitlines() if line.startswith("content-length: ")]
            body = await reader.readexactly(int(length[0][16:]) if length else 0)
            self.heads.append(head + body.decode())
            answer = self.answers.pop(0)
            if answer is None:
                break
            writer.write(answer)
            await writer.drain()
        writer.close()


class Tokens:
    """Credentials with another token after each rejection."""

    def __init__(self):
        self.count = 1

    async def identity(self):
        return Identity(
            (("authorization", f"Bearer {self.count}"), ("impersonate-group", "a"), ("impersonate-group", "b"))
        )

    def reject(self):
        self.count += 1
        return True


@asynccontextmanager
async def talking(*answers, credentials=None):
    server = Server(*answers)
    async with listening(server.serve) as port:
        transport = AiohttpTransport(
            ClusterAccess(f"http://127.0.0.1:{port}", credentials or StaticCredentials(Identity()))
        )
        try:
            yield transport, server
        finally:
            await transport.close()


async def test_request_returns_the_response():
    async with talking(OK) as (transport, server):
        request = Request("POST", "/a b", (("x", "y z"),), {"content-type": "application/json"}, b"{}")
        answer = await transport.request(request)
        assert (answer.status, answer.body, answer.headers["warning"]) == (200, b"{}", "one, two")
        assert server.heads[0].startswith("POST /a%20b?x=y+z HTTP/1.1\r\n")
        assert server.heads[0].endswith("{}")
        assert "content-type: application/json" in server.heads[0].lower()


async def test_request_can_disable_compression():
    server = Server(OK)
    async with listening(server.serve) as port:
        access = ClusterAccess(f"http://127.0.0.1:{port}", StaticCredentials(Identity()), disable_compression=True)
        transport = AiohttpTransport(access)
        await transport.request(Request("GET", "/"))
        await transport.close()
    assert "accept-encoding: identity\r\n" in server.heads[0].lower()


async def test_connections_are_reused():
    async with talking(OK, OK, OK) as (transport, server):
        for _ in range(3):
            await transport.request(Request("GET", "/"))
        assert server.connections == 1


async def test_stream_yields_chunks_and_raises_when_it_breaks():
    async with talking(CHUNKS) as (transport, _), transport.open(Request("GET", "/")) as stream:
        pieces = aiter(stream)
        assert (stream.status, await anext(pieces)) == (200, b"ab")
        with pytest.raises(TransportError):
            await anext(pieces)


async def test_close_breaks_open_streams():
    async with talking(CHUNKS, None) as (transport, _), transport.open(Request("GET", "/")) as stream:
        pieces = aiter(stream)
        await anext(pieces)
        await transport.close()
        with pytest.raises(TransportError):
            await anext(pieces)


async def test_leaving_a_stream_closes_its_connection():
    async with talking(CHUNKS, OK) as (transport, server):
        async with transport.open(Request("GET", "/")):
            pass
        assert (await transport.request(Request("GET", "/"))).status == 200
        assert server.connections == 2


async def test_request_renews_credentials_once_after_401():
    async with talking(REFUSED, OK, REFUSED, REFUSED, credentials=Tokens()) as (transport, server):
        assert (await transport.request(Request("GET", "/"))).status == 200
        assert ["Bearer 1" in server.heads[0], "Bearer 2" in server.heads[1]] == [True, True]
        assert (await transport.request(Request("GET", "/"))).status == 401
        assert server.heads[0].lower().count("impersonate-group") == 2


async def test_stream_renews_credentials_once_after_401():
    async with (
        talking(REFUSED, CHUNKS, credentials=Tokens()) as (transport, _),
        transport.open(Request("GET", "/")) as stream,
    ):
        assert stream.status == 200


async def test_refused_connection_raises_before_sending():
    transport = AiohttpTransport(ClusterAccess("http://127.0.0.1:1", StaticCredentials(Identity())))
    with pytest.raises(TransportError) as failed:
        await transport.request(Request("POST", "/"))
    assert failed.value.before_sending
    await transport.close()


async def test_closed_connection_without_response_may_have_had_effect():
    async with talking(None) as (transport, _):
        with pytest.raises(TransportError) as failed:
            await transport.request(Request("POST", "/"))
        assert (failed.value.before_sending, failed.value.is_reset) == (False, True)


async def test_mutual_tls_authenticates_client_and_server(tmp_path):
    pki = ensure_pki(tmp_path, ["127.0.0.1"], now=RealClock().now())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=pki.ca.certificate)
    context.load_cert_chain(pki.server.certificate, pki.server.key)
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server(OK)
    identity = Identity((), pki.admin.certificate.read_bytes(), pki.admin.key.read_bytes())
    async with listening(server.serve, tls=context) as port:
        address = f"https://127.0.0.1:{port}"
        access = ClusterAccess(address, StaticCredentials(identity), ca=pki.ca.certificate.read_bytes())
        transport = AiohttpTransport(access)
        assert (await transport.request(Request("GET", "/"))).status == 200
        await transport.close()


async def read_a_piece(transport, _):
    async with transport.open(Request("GET", "/")) as stream:
        async for piece in stream:
            assert piece == b"ab"
            break


async def cancel_before_the_head(transport, received):
    request = asyncio.create_task(transport.request(Request("GET", "/")))
    await asyncio.to_thread(received.wait)
    request.cancel()
    await asyncio.wait([request])


@pytest.mark.parametrize(
    ("abandon", "sent"), [(read_a_piece, CHUNKS), (cancel_before_the_head, b"")], ids=["stream", "no-head"]
)
def test_abandoned_request_is_aborted_without_tls_close(tmp_path, abandon, sent):
    pki = ensure_pki(tmp_path, ["127.0.0.1"], now=RealClock().now())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pki.server.certificate, pki.server.key)
    received, abandoned = threading.Event(), threading.Event()

    def serve():
        with listener, context.wrap_socket(listener.accept()[0], server_side=True) as connection:
            connection.recv(65536)
            received.set()
            connection.sendall(sent)
            abandoned.wait()

    async def request_and_abandon(address):
        access = ClusterAccess(address, StaticCredentials(Identity()), ca=pki.ca.certificate.read_bytes())
        transport = AiohttpTransport(access)
        await abandon(transport, received)
        await transport.close()

    listener = socket.create_server(("127.0.0.1", 0))
    server = threading.Thread(target=serve)
    server.start()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(request_and_abandon(f"https://127.0.0.1:{listener.getsockname()[1]}"))
        gc.collect()
    abandoned.set()
    server.join()
    assert [str(one.message) for one in caught if "raddr" in str(one.message)] == []


@pytest.mark.parametrize(
    ("access", "identity", "message"),
    [
        ({"ca": b"no pem"}, Identity(), "certificate authority of https://h cannot be read"),
        ({"ca": "\xe9".encode()}, Identity(), "certificate authority of https://h cannot be read"),
        ({}, Identity((), b"no", b"pem"), "client certificate and its key cannot be read"),
    ],
)
def test_tls_context_rejects_malformed_certificates(access, identity, message):
    with pytest.raises(ConfigError, match=message):
        tls_context(ClusterAccess("https://h", StaticCredentials(identity), **access), identity)


def test_tls_context_verifies_the_server_by_default():
    identity = Identity()
    context = tls_context(ClusterAccess("https://h", StaticCredentials(identity)), identity)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    context = tls_context(ClusterAccess("https://h", StaticCredentials(identity), verify=False), identity)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_http_libraries_are_imported_with_the_first_connection():
    code = "import sys, steersman.client as c; c.connect; print([m in sys.modules for m in ('aiohttp', 'yaml', 'lightkube')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout.decode().lower()) == [False, False, False]


def test_preload_without_trust_store_loads_it_when_called():
    code = """
import json
from steersman.client.aiohttp_transport import preload_without_trust_store
load = preload_without_trust_store()
import aiohttp.connector, ssl
context = aiohttp.connector._SSL_CONTEXT_VERIFIED
before = context.cert_store_stats()["x509_ca"]
load()
expected = ssl.create_default_context().cert_store_stats()["x509_ca"]
print(json.dumps([before, context.cert_store_stats()["x509_ca"] == expected, "set_default_verify_paths" in vars(ssl.SSLContext)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) == [0, True, False]


@pytest.mark.parametrize(
    ("environment", "server", "proxy"),
    [
        ({}, "https://a.example", ""),
        ({"HTTPS_PROXY": "http://p:3128"}, "https://a.example", "http://p:3128"),
        ({"https_proxy": "p:3128"}, "https://a.example", "http://p:3128"),
        ({"HTTP_PROXY": "http://p:3128"}, "https://a.example", ""),
        ({"HTTPS_PROXY": "http://p:3128"}, "https://127.0.0.1:6443", ""),
        ({"HTTPS_PROXY": "http://p:3128"}, "https://localhost:6443", ""),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "*"}, "https://a.example", ""),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "b.example, example"}, "https://a.example", ""),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": ".example"}, "https://example", "http://p:3128"),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "10.0.0.0/8"}, "https://10.1.2.3:6443", ""),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "10.1.2.3:443"}, "https://10.1.2.3:6443", "http://p:3128"),
    ],
)
def test_proxy_from_reads_the_environment_like_go(environment, server, proxy):
    assert proxy_from(environment, server) == proxy
