"""Webhooks of kubeconfig files: retries, bounds, failures."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random

import pytest
from tests.unit.listening import listening

from steersman.apiserver.webhooks.client import WebhookCallError
from steersman.asynckit.certificates import make_ca, make_server
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.client.transport import Request, TransportError
from steersman.controlplane.kubeconfig_webhook import (
    RESPONSE_BYTES_MAX,
    KubeconfigWebhook,
    open_webhook,
)
from steersman.controlplane.options import OptionError

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
JSON = {"content-type": "application/json"}


class Stream:
    def __init__(self, status, headers, *chunks):
        self.status, self.headers, self.chunks = status, headers, chunks

    async def __aiter__(self):
        for chunk in self.chunks:
            yield chunk


class Server:
    """Transport with scripted responses; an exception is raised, None never responds."""

    host = "webhook.test:8443"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.times = []
        self.attempts = []
        self.results = []
        self.closed = False
        self.clock = FakeClock()
        self.webhook = KubeconfigWebhook(
            self,
            Request("POST", "/review", query=(("tenant", "a"),)),
            server="https://webhook.test:8443",
            clock=self.clock,
            dice=Random(1),
            on_attempt=lambda code, _seconds: self.attempts.append(code),
            on_result=lambda result, _seconds: self.results.append(result),
        )

    @asynccontextmanager
    async def open(self, request):
        self.requests.append(request)
        self.times.append(self.clock.monotonic())
        answer = self.answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        yield answer

    async def close(self):
        self.closed = True


async def post(server, seconds=100.0):
    task = asyncio.create_task(server.webhook.post(b"{}"))
    await server.clock.advance(seconds)
    return await task


def status(code, reason="", **details):
    tree = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": "no", "details": details}
    return Stream(code, JSON, json.dumps(tree).encode())


async def test_post_sends_the_body_to_the_exact_url_with_the_timeout():
    server = Server(Stream(200, JSON, b'{"a":', b"1}"))
    assert await post(server) == b'{"a":1}'
    assert [(r.method, r.target, r.body) for r in server.requests] == [
        ("POST", "/review?tenant=a&timeout=30s", b"{}"),
    ]
    await server.webhook.close()
    assert server.closed


async def test_temporary_failures_are_retried_with_backoff():
    server = Server(
        status(500, "InternalError"),
        TransportError("reset", is_reset=True),
        status(429, "TooManyRequests"),
        Stream(503, {**JSON, "retry-after": "1"}, b"busy"),
        Stream(201, JSON, b"{}"),
    )
    assert await post(server) == b"{}"
    pauses = [after - before for before, after in zip(server.times, server.times[1:], strict=False)]
    assert all(base <= pause <= base * 1.2 for base, pause in zip((0.5, 0.75, 1.125, 1.6875), pauses, strict=True))
    assert server.attempts == ["500", "<error>", "429", "503", "201"]
    assert server.results == ["error", "error", "error", "error", "success"]


async def test_fifth_temporary_failure_is_final():
    server = Server(*(status(500, "InternalError") for _ in range(5)))
    with pytest.raises(WebhookCallError, match="no"):
        await post(server)
    assert server.answers == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (status(403, "Forbidden"), "no"),
        (Stream(302, {"location": "https://other.test/"}, b""), "302"),
        (Stream(200, {"content-type": "text/html"}, b"<html>"), "serializer for text/html doesn't exist"),
        (Stream(200, JSON), "0-length response"),
        (TransportError("refused"), 'Post "https://webhook.test:8443/review[?]tenant=a&timeout=30s": refused'),
        (Stream(200, JSON, b" " * RESPONSE_BYTES_MAX, b"{}"), "larger than 10485760 bytes"),
    ],
)
async def test_unusable_answer_fails_at_once(answer, message):
    server = Server(answer)
    with pytest.raises(WebhookCallError, match=message):
        await post(server)


async def test_answer_in_time_is_required():
    server = Server(None)
    with pytest.raises(WebhookCallError, match="context deadline exceeded") as failed:
        await post(server, 30.0)
    assert failed.value.is_timeout
    assert (server.attempts, server.results) == (["<error>"], ["timeout"])


async def test_gateway_timeout_is_a_temporary_timeout():
    server = Server(status(504, "Timeout"), Stream(200, JSON, b"{}"))
    assert await post(server) == b"{}"
    assert server.results == ["timeout", "success"]


async def test_answer_that_cannot_be_read_is_an_error():
    server = Server(Stream(200, JSON, b"[]"))

    def read(body):
        raise ValueError(f"{body.decode()} is no review")

    with pytest.raises(WebhookCallError, match="is no review"):
        await server.webhook.call(b"{}", read)
    assert server.results == ["error"]


async def test_cancelled_call_is_counted():
    server = Server(None)
    task = asyncio.create_task(server.webhook.post(b"{}"))
    await server.clock.advance(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.results == ["canceled"]


def kubeconfig(folder, port, authority):
    (folder / "ca.pem").write_bytes(authority.certificate)
    file = folder / "config"
    file.write_text(
        json.dumps(
            {
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {"server": f"https://127.0.0.1:{port}/review", "certificate-authority": "ca.pem"},
                    }
                ],
                "users": [{"name": "u", "user": {"token": "secret"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return file


@asynccontextmanager
async def https_webhook(folder, *, trusted_life=timedelta(days=1), trusts_other=False):
    now = RealClock().now()
    authority = make_ca("authority", now=now, life=trusted_life)
    pems = make_server("webhook", ["127.0.0.1"], authority, now=now, life=timedelta(days=1))
    (folder / "server.pem").write_bytes(pems.certificate + pems.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.pem")
    heads = []

    async def serve(reader, writer):
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        await reader.readexactly(2)
        writer.write(OK)
        await writer.drain()
        await reader.read()

    trusted = make_ca("other", now=now, life=timedelta(days=1)) if trusts_other else authority
    async with listening(serve, tls=tls) as port:
        webhook = open_webhook("--flag", kubeconfig(folder, port, trusted), clock=RealClock(), dice=Random(1))
        try:
            yield webhook, heads
        finally:
            await webhook.close()


async def test_post_over_tls_sends_the_credentials_of_the_kubeconfig(tmp_path):
    async with https_webhook(tmp_path) as (webhook, heads):
        assert await webhook.post(b"{}") == b"{}"
    assert heads[0].startswith("POST /review?timeout=30s HTTP/1.1")
    assert "authorization: bearer secret" in heads[0].lower()


@pytest.mark.parametrize("trust", [{"trusted_life": timedelta(days=-1)}, {"trusts_other": True}])
async def test_untrusted_server_receives_nothing(tmp_path, trust):
    async with https_webhook(tmp_path, **trust) as (webhook, heads):
        with pytest.raises(WebhookCallError, match=r"(?i)certificate"):
            await webhook.post(b"{}")
    assert heads == []


def test_kubeconfig_without_server_is_rejected(tmp_path):
    with pytest.raises(OptionError, match=f"--flag: .*{tmp_path}"):
        open_webhook("--flag", tmp_path / "none", clock=FakeClock(), dice=Random(1))
