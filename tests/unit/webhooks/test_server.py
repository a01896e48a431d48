"""HTTPS server of webhooks, over sockets."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import ClientSession, ClientTimeout
from prometheus_client import CollectorRegistry
from tests.busy_machine import HANG_SECONDS
from tests.unit.listening import connected_to
from tests.unit.serving_certificates import client_context, make_authority

from steersman.asynckit.certificates import make_server
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.asynckit.serving_tls import PemPair
from steersman.client import Client, tree
from steersman.runtime import Manager
from steersman.runtime.http import ListenError
from steersman.webhooks import Converter, WebhookServer, allowed, denied
from steersman.webhooks import server as server_module
from steersman.webhooks.spec_reviews import IMAGE_REVIEW, SUBJECT_ACCESS_REVIEW, TOKEN_REVIEW

JSON = {"Content-Type": "application/json"}


class Certificates:
    """Source of a certificate that a test replaces."""

    reload_seconds = 10.0

    def __init__(self):
        self.pair = self.renewed()
        self.error = None

    def renewed(self):
        pems = make_server("webhook", ["127.0.0.1"], make_authority(), now=RealClock().now(), life=timedelta(days=1))
        self.pair = PemPair(pems.certificate, pems.key)
        return self.pair

    async def load(self):
        if self.error is not None:
            raise self.error
        return self.pair


@pytest.fixture(scope="module")
def _pair():
    return Certificates().pair


@pytest.fixture
def certificates(_pair):
    source = Certificates.__new__(Certificates)
    source.pair, source.error = _pair, None
    return source


def review(**more):
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    request = {"uid": "u1", "kind": kind, "resource": resource, "operation": "CREATE", "object": {}, **more}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(body).encode()


@asynccontextmanager
async def session(server, tmp_path, authority=None, **client):
    tls = client_context(tmp_path, authority, **client)
    timeout = ClientTimeout(total=HANG_SECONDS)
    async with ClientSession(f"https://127.0.0.1:{server.port}", timeout=timeout) as client_session:

        async def send(path="/validate", body=None, method="POST", headers=JSON):
            request = client_session.request(
                method, path, data=review() if body is None else body, headers=headers, ssl=tls, allow_redirects=False
            )
            async with request as response:
                return response.status, await response.read()

        yield send


def new_server(certificates, **options):
    server = WebhookServer(certificates, port=0, **options)
    server.validating("/validate")(lambda request: allowed())
    return server


async def test_webhooks_are_served_by_path(certificates, tmp_path):
    server = new_server(certificates)

    @server.mutating("/mutate", tree("v1", "ConfigMap"))
    async def mutate(request):
        return denied("no")

    async with server, session(server, tmp_path) as send:
        code, body = await send()
        assert (code, json.loads(body)["response"]) == (200, {"uid": "u1", "allowed": True})
        code, body = await send("/mutate")
        assert (code, json.loads(body)["response"]["allowed"]) == (200, False)
        assert server.paths == ["/mutate", "/validate"]


async def test_conversion_is_served(certificates, tmp_path):
    server = new_server(certificates)
    server.add_conversion("/convert", Converter(tree("v1", "ConfigMap")))
    request = {"uid": "u1", "desiredAPIVersion": "v1", "objects": []}
    body = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
    async with server, session(server, tmp_path) as send:
        assert json.loads((await send("/convert", body.encode()))[1])["response"]["result"] == {"status": "Success"}


@pytest.mark.parametrize("name", ["token_review", "subject_access_review", "image_review"])
async def test_handler_of_a_spec_that_fails_is_answered_with_500(certificates, tmp_path, name, caplog):
    server = new_server(certificates)
    getattr(server, name)("/review")(lambda spec: 1 / 0)
    kind = {"token_review": TOKEN_REVIEW, "subject_access_review": SUBJECT_ACCESS_REVIEW, "image_review": IMAGE_REVIEW}[
        name
    ]
    body = {"apiVersion": f"{kind.group}/{kind.versions[0]}", "kind": kind.kind, "spec": {}}
    async with server, session(server, tmp_path) as send:
        assert await send("/review", json.dumps(body).encode()) == (500, b"internal server error\n")
    assert "the webhook /review failed" in caplog.text


@pytest.mark.parametrize("path", ["validate", "/validate", "/healthz"])
def test_path_that_is_relative_or_in_use_is_rejected(certificates, path):
    with pytest.raises(ValueError, match=path):
        new_server(certificates).validating(path)(lambda request: allowed())


@pytest.mark.parametrize(
    ("path", "method", "headers", "body", "code"),
    [
        ("/other", "POST", JSON, None, 404),
        ("/validate", "GET", JSON, None, 405),
        ("/validate", "POST", {"Content-Type": "text/plain"}, None, 415),
        ("/validate", "POST", JSON, b"{}", 400),
        ("/validate", "POST", JSON, review(name="x" * 2000), 413),
        ("/healthz", "GET", {}, None, 200),
        ("/readyz", "GET", {}, None, 200),
    ],
)
async def test_other_requests_get_an_http_error(certificates, tmp_path, path, method, headers, body, code):
    server = new_server(certificates, admission_bytes_max=1000)
    async with server, session(server, tmp_path) as send:
        assert (await send(path, body, method, headers))[0] == code


async def test_body_in_chunks_is_bounded(certificates, tmp_path):
    async def endless():
        for _ in range(100):
            yield b"x" * 100

    server = new_server(certificates, admission_bytes_max=1000)
    async with server, session(server, tmp_path) as send:
        assert (await send(body=endless()))[0] == 413


async def test_requests_beyond_the_bound_are_rejected(certificates, tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "IN_FLIGHT_MAX", 1)
    server, started, release = new_server(certificates), asyncio.Event(), asyncio.Event()

    @server.validating("/slow")
    async def slow(request):
        started.set()
        await release.wait()
        return allowed()

    async with server, session(server, tmp_path) as send, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(send("/slow"))
        await started.wait()
        assert (await send())[0] == 503
        release.set()
        assert (await first)[0] == 200


async def test_handler_that_takes_too_long_is_cancelled(certificates, tmp_path):
    clock = FakeClock()
    server, started, ended = new_server(certificates, clock=clock), asyncio.Event(), asyncio.Event()

    @server.validating("/slow")
    async def slow(request):
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with server, session(server, tmp_path) as send, asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(send("/slow"))
        await started.wait()
        await clock.advance(30)
        assert (await answer)[0] == 504
        assert ended.is_set()


async def test_leaving_sends_the_responses_in_progress(certificates, tmp_path):
    server, started, release = new_server(certificates), asyncio.Event(), asyncio.Event()

    @server.validating("/slow")
    async def slow(request):
        started.set()
        await release.wait()
        return allowed()

    async with asyncio.TaskGroup() as tasks:
        await server.__aenter__()
        async with session(server, tmp_path) as send:
            answer = tasks.create_task(send("/slow"))
            await started.wait()
            stop = tasks.create_task(server.__aexit__(None, None, None))
            while server.is_listening:
                await FakeClock().advance(0)
            release.set()
            assert (await answer)[0] == 200
            await stop


class UnusedTransport:
    """Transport of a client whose manager sends no requests."""


# Certificates


async def server_certificate(server):
    """Return the certificate that the server presents to a new connection."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    async with connected_to("127.0.0.1", server.port, tls=tls) as (_, writer):
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return ssl.DER_cert_to_PEM_cert(certificate).strip().encode()


async def test_new_connections_have_the_reloaded_certificate(certificates, tmp_path, caplog):
    former = certificates.pair
    server = new_server(certificates)
    async with server, session(server, tmp_path) as send:
        port = server.port
        assert await server_certificate(server) in former.certificate
        certificates.error = OSError("the disk is away")
        await server.reload()
        assert await server_certificate(server) in former.certificate
        assert "the disk is away" in caplog.text
        certificates.error = None
        renewed = certificates.renewed()
        certificates.pair = PemPair(renewed.certificate, former.key)
        await server.reload()
        assert await server_certificate(server) in former.certificate
        certificates.pair = renewed
        assert (await send())[0] == 200  # a connection that stays open
        await server.reload()
        assert await server_certificate(server) in renewed.certificate
        assert ((await send())[0], server.port) == (200, port)


async def test_certificate_that_cannot_be_loaded_prevents_the_start(certificates):
    certificates.pair = PemPair(b"no", b"pem")
    with pytest.raises(ValueError, match="serving certificate or the client authorities cannot be used"):
        await new_server(certificates).__aenter__()
    certificates.error = FileNotFoundError("tls.crt")
    with pytest.raises(FileNotFoundError, match=r"tls\.crt"):
        await new_server(certificates).__aenter__()


async def test_port_in_use_prevents_the_start(certificates):
    async with new_server(certificates) as first:
        second = WebhookServer(certificates, port=first.port)
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1 port {first.port}"):
            await second.__aenter__()


async def test_clients_need_a_certificate_of_the_authorities(certificates, tmp_path):
    authority, other = make_authority(), make_authority()
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    server = new_server(certificates, client_ca_file=tmp_path / "ca.crt", client_names=["kube-apiserver"])
    for signer, user, code in [
        (None, "", 401),
        (other, "kube-apiserver", 401),
        (authority, "jane", 403),
        (authority, "kube-apiserver", 200),
    ]:
        async with server, session(server, tmp_path, signer, user=user) as send:
            assert (await send())[0] == code
            assert (await send("/healthz", method="GET"))[0] == 200


async def test_client_authorities_must_not_be_empty(certificates, tmp_path):
    (tmp_path / "ca.crt").write_bytes(b"\n")
    with pytest.raises(ValueError, match=r"ca\.crt has no certificate"):
        await new_server(certificates, client_ca_file=tmp_path / "ca.crt").__aenter__()
    with pytest.raises(ValueError, match="client_names need client_ca_file"):
        new_server(certificates, client_names=["kube-apiserver"])


# Manager


async def test_manager_serves_on_every_replica(certificates, tmp_path):
    clock = FakeClock()
    manager = Manager(Client(UnusedTransport(), clock=clock))
    server = new_server(certificates)
    server.add_to(manager)
    assert (await manager.readyz.page({})).status == 500
    running = asyncio.create_task(manager.run())
    try:
        await server.wait_until_listening()
        async with session(server, tmp_path) as send:
            assert (await send())[0] == 200
        renewed = certificates.renewed()
        await clock.advance(10)
        while await server_certificate(server) not in renewed.certificate:
            await clock.advance(0)
        registry = manager.context.metrics.registry
        labels = {"webhook": "/validate", "code": "200"}
        assert registry.get_sample_value("controller_runtime_webhook_requests_total", labels) == 1
    finally:
        manager.stop()
        await running
    assert not server.is_listening


async def test_error_at_the_start_stops_the_manager(certificates):
    certificates.error = OSError("no certificate")
    manager = Manager(Client(UnusedTransport(), clock=FakeClock()))
    new_server(certificates, registry=CollectorRegistry()).add_to(manager)
    with pytest.raises(OSError, match="no certificate"):
        await manager.run()
