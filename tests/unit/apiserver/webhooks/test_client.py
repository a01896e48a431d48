"""Client of webhooks: calls, errors, pooling."""

import asyncio
import tracemalloc
from typing import Any

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response, server_tls
from tests.unit.flooding import BODY_BYTES, BUFFERED_BYTES_MAX, Flood
from tests.unit.listening import closed_port, listening

from steersman.apimachinery.errors import service_unavailable
from steersman.apiserver.webhooks.client import (
    RESPONSE_BYTES_MAX,
    WebhookCallError,
    WebhookClients,
    WebhookConfigError,
    json_body,
    target_of,
)
from steersman.apiserver.webhooks.connection import Answer
from steersman.apiserver.webhooks.services import Address
from steersman.asynckit.clock import Clock, FakeClock, RealClock

AGENT = "test"


class FixedService:
    """Resolver of one address; None: no endpoints."""

    def __init__(self, port: int | None) -> None:
        self.port = port
        self.calls: list[tuple[str, str, int]] = []

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        self.calls.append((namespace, name, port))
        if self.port is None:
            raise service_unavailable(f'no endpoints available for service "{name}"')
        return Address("127.0.0.1", self.port)


def clients(
    resolver: FixedService | None = None, *, clock: Clock | None = None, connections_max: int = 100
) -> WebhookClients:
    return WebhookClients(resolver or FixedService(None), clock=clock or RealClock(), connections_max=connections_max)


async def echo(path: str, body: object) -> bytes:
    return http_response({"path": path, "body": body})


async def post(
    config: dict,
    *,
    seconds: float = HANG_SECONDS,
    resolver: FixedService | None = None,
    clock: Clock | None = None,
    **more: int,
) -> bytes:
    created = clients(resolver, clock=clock)
    try:
        return await created.client(target_of(config)).post(b'{"a":1}', timeout_seconds=seconds, agent=AGENT, **more)
    finally:
        created.close()


async def failure(config: dict, **more: Any) -> str:
    with pytest.raises(WebhookCallError) as caught:
        await post(config, **more)
    return str(caught.value)


async def test_post_by_url_sends_body_and_timeout():
    async with WebhookServer(echo) as server:
        body = await post({"url": f"{server.url}/a/b/", "caBundle": ca_bundle()}, seconds=119.5)
    assert body == b'{"path": "/a/b", "body": {"a": 1}}'
    assert server.targets == ["/a/b?timeout=2m0s"]


async def test_post_by_service_verifies_service_name():
    async with WebhookServer(echo, hosts=("hook.ns.svc",)) as server:
        resolver = FixedService(server.port)
        config = {"service": {"namespace": "ns", "name": "hook", "port": 8443}, "caBundle": ca_bundle()}
        await post(config, resolver=resolver)
        assert resolver.calls == [("ns", "hook", 8443)]
        other = {"service": {"namespace": "ns", "name": "other"}, "caBundle": ca_bundle()}
        assert await failure(other, resolver=resolver) == (
            'Post "https://other.ns.svc:443/?timeout=2m0s": tls: failed to verify certificate: x509: '
            "certificate is valid for hook.ns.svc, not other.ns.svc"
        )


async def test_post_by_service_without_endpoints_fails():
    config = {"service": {"namespace": "ns", "name": "hook", "path": "/p"}}
    expected = 'Post "https://hook.ns.svc:443/p?timeout=2m0s": no endpoints available for service "hook"'
    assert await failure(config) == expected


async def test_post_reuses_connections_and_redials_closed_ones():
    async with WebhookServer(echo) as server:
        client = clients().client(target_of({"url": server.url, "caBundle": ca_bundle()}))
        for _ in range(3):
            await client.post(b"{}", timeout_seconds=HANG_SECONDS, agent=AGENT)
        assert server.connections == 1
        server.close_connections()
        await client.post(b"{}", timeout_seconds=HANG_SECONDS, agent=AGENT)
        assert server.connections == 2
        client.close()


async def test_post_waits_for_a_free_connection_within_its_timeout():
    called, release = asyncio.Event(), asyncio.Event()

    async def slow(path: str, body: object) -> bytes:
        called.set()
        await release.wait()
        return http_response({})

    async with WebhookServer(slow) as server:
        client = clients(connections_max=1).client(target_of({"url": server.url, "caBundle": ca_bundle()}))
        first = asyncio.create_task(client.post(b"{}", timeout_seconds=HANG_SECONDS, agent=AGENT))
        await called.wait()
        with pytest.raises(WebhookCallError, match="context deadline exceeded"):
            await client.post(b"{}", timeout_seconds=0.01, agent=AGENT)
        second = asyncio.create_task(client.post(b"{}", timeout_seconds=HANG_SECONDS, agent=AGENT))
        release.set()
        assert [await first, await second] == [b"{}", b"{}"]
        assert server.connections == 1
        assert client.in_use == 0
        client.close()


async def test_post_fails_after_timeout():
    async def hang(path: str, body: object) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with WebhookServer(hang) as server:
        text = await failure({"url": f"{server.url}/slow", "caBundle": ca_bundle()}, seconds=0.05)
    assert text == f'Post "{server.url}/slow?timeout=1s": context deadline exceeded'


async def test_post_rejects_certificate_of_another_authority():
    async with WebhookServer(echo, ca="another-ca") as server:
        text = await failure({"url": server.url, "caBundle": ca_bundle()})
    assert text.endswith("tls: failed to verify certificate: x509: certificate signed by unknown authority")


async def test_post_rejects_plain_http_server():
    async with WebhookServer(echo, tls=False) as server:
        text = await failure({"url": server.url, "caBundle": ca_bundle()})
    assert text.endswith("http: server gave HTTP response to HTTPS client")


async def test_post_fails_when_connection_is_refused():
    with closed_port() as port:
        text = await failure({"url": f"https://127.0.0.1:{port}", "caBundle": ca_bundle()})
    assert text.endswith(f"dial tcp 127.0.0.1:{port}: connect: connection refused")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "EOF"),
        (b"garbage\r\n\r\n", "malformed HTTP response"),
        (http_response(b"x" * 2000), "response body exceeds 1000 bytes"),
        (http_response(b""), "0-length response with status code: 200 and content type: application/json"),
        (http_response({}, kind="text/html"), "serializer for text/html doesn't exist"),
        (http_response(b"down", status=503, kind="text/plain"), "the server is currently unable to handle the request"),
        (
            http_response(b"oh", status=500, kind="text/plain"),
            'an error on the server ("oh") has prevented the request from succeeding',
        ),
        (
            http_response({}, status=302, headers="Location: https://127.0.0.1/\r\n"),
            "the server responded with the status code 302 but did not return more information",
        ),
        (
            http_response({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no"}, status=409),
            "no",
        ),
    ],
)
async def test_post_fails_for_bad_answer(answer: bytes | None, expected: str):
    async def respond(path: str, body: object) -> bytes | None:
        return answer

    async with WebhookServer(respond) as server:
        text = await failure({"url": server.url, "caBundle": ca_bundle()}, response_bytes_max=1000)
    assert expected in text
    assert len(server.targets) == 1


async def test_post_fails_when_the_rest_of_an_answer_does_not_arrive_within_its_timeout():
    clock, requested = FakeClock(), asyncio.Event()

    async def begin(path: str, body: object) -> bytes:
        requested.set()
        return b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"

    async with WebhookServer(begin) as server:
        failing = asyncio.create_task(failure({"url": server.url, "caBundle": ca_bundle()}, seconds=5, clock=clock))
        await requested.wait()
        await clock.advance(5)
        text = await failing
    assert text == f'Post "{server.url}/?timeout=5s": context deadline exceeded'
    assert len(server.targets) == 1


async def test_post_reads_a_response_up_to_its_limit_only():
    flood = Flood()
    async with listening(flood, tls=server_tls(("127.0.0.1",))) as port:
        tracemalloc.start()
        try:
            text = await failure({"url": f"https://127.0.0.1:{port}", "caBundle": ca_bundle()})
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert text.endswith(f": response body exceeds {RESPONSE_BYTES_MAX} bytes")
    assert flood.sent_bytes < RESPONSE_BYTES_MAX + BUFFERED_BYTES_MAX < BODY_BYTES
    assert peak_bytes < RESPONSE_BYTES_MAX + BUFFERED_BYTES_MAX


async def test_post_accepts_body_that_ends_with_the_connection():
    async def respond(path: str, body: object) -> bytes:
        asyncio.get_running_loop().call_soon(server.close_connections)
        return b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}"

    async with WebhookServer(respond) as server:
        assert await post({"url": server.url, "caBundle": ca_bundle()}) == b"{}"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "webhook configuration must have either service or URL"),
        ({"url": "https://h:x/"}, "Unparsable URL"),
        ({"url": "http://h/"}, "Unparsable URL"),
        ({"url": "https://h/", "caBundle": "%"}, "invalid caBundle"),
        ({"url": "https://h/", "caBundle": "eHg="}, "unable to parse bytes as PEM block"),
    ],
)
def test_client_rejects_unusable_configuration(config: dict, expected: str):
    with pytest.raises(WebhookConfigError, match=expected):
        clients().client(target_of(config))


def test_client_is_shared_by_equal_configurations():
    created = clients()
    config = {"url": "https://h/", "caBundle": ca_bundle()}
    assert created.client(target_of(config)) is created.client(target_of(dict(config)))
    assert created.client(target_of(config)) is not created.client(target_of({"url": "https://h/"}))


def test_client_shares_the_systems_authorities_among_webhooks_without_a_bundle():
    created = clients()
    first, second = (
        created.client(target_of({"url": f"https://{host}/"})) for host in ("a.example.com", "b.example.com")
    )
    own = created.client(target_of({"url": "https://a.example.com/", "caBundle": ca_bundle()}))
    assert first._tls is second._tls
    assert own._tls is not first._tls
    created.close()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\x8f{", "\ufffd{"),
        (b'{"kind":"Status","apiVersion":"v1","message":"no","code":403}', "no"),
        (b'{"kind":"Status","apiVersion":"v1","message":{},"code":"x"}', "unknown"),
    ],
)
def test_failed_answer_has_a_well_formed_status(body, message):
    content_type = "text/plain" if body.startswith(b"\x8f") else "application/json"
    with pytest.raises(WebhookCallError) as raised:
        json_body(Answer(500, content_type, body))
    status = raised.value.status
    assert status is not None
    assert isinstance(status.code, int)
    assert message in status.message
