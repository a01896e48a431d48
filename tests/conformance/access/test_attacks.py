"""Requests that attack the server: each has its answer, and the server holds nothing of it afterwards."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.busy_machine import HANG_SECONDS, advance_until
from tests.unit.listening import hang_up
from tests.unit.serving_certificates import make_authority

from steersman.apimachinery.codec import MAX_DEPTH
from steersman.apiserver import workers
from steersman.apiserver.server.http1 import serving as http1
from steersman.asynckit.certificates import make_server
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.options import APIServerOptions
from steersman.schema.protobuf import ENVELOPE_END, MAGIC
from steersman.testing import InProcessAPIServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/api/v1/namespaces/default/services"
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
WATCHES = 200
CREATORS = 20


async def wait_until(is_over: Callable[[], bool]) -> None:
    """Let other tasks run until ``is_over``."""
    async with asyncio.timeout(HANG_SECONDS):
        while not is_over():  # noqa: ASYNC110 — there is no event
            await asyncio.sleep(0.001)  # noqa: TID251


# -- bodies ------------------------------------------------------------------------------------------------------------


def message(number: int, value: bytes) -> bytes:
    """Return a field of a protobuf message."""
    size, length = len(value), b""
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def nested_schema() -> bytes:
    """Return a CustomResourceDefinition in protobuf, whose schema is nested a thousand deep."""
    schema = b""
    for _ in range(1000):
        schema = message(21, schema)  # ``not``
    version = message(1, b"v1") + message(4, message(1, schema))
    metadata = message(1, b"as.example.com")
    kind = message(1, b"apiextensions.k8s.io/v1") + message(2, b"CustomResourceDefinition")
    definition = message(1, metadata) + message(2, message(7, version))
    return MAGIC + message(1, kind) + message(2, definition) + ENVELOPE_END


def aliases() -> bytes:
    """Return YAML whose aliases expand to a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return "\n".join(lines).encode()


DEEP = MAX_DEPTH + 1
BODIES = {
    "gzip bomb": (CONFIGMAPS, JSON, gzip.compress(b'{"data":{"a":"' + bytes(1 << 24)), 400),
    "JSON lists": (CONFIGMAPS, JSON, b'{"data":' + b"[" * DEEP + b"]" * DEEP + b"}", 400),
    "JSON objects": (CONFIGMAPS, JSON, b'{"a":' * DEEP + b"1" + b"}" * DEEP, 400),
    "JSON lists without an end": (CONFIGMAPS, JSON, b"[" * 1_000_000, 400),
    "YAML lists": (CONFIGMAPS, YAML, b"data: " + b"[" * DEEP + b"]" * DEEP, 400),
    "YAML block lists": (CONFIGMAPS, YAML, b"- " * DEEP, 400),
    "YAML aliases": (CONFIGMAPS, YAML, aliases(), 400),
    "JSON number": (CONFIGMAPS, JSON, b'{"data":{"a":' + b"9" * 1_000_000 + b"}}", 400),
    "protobuf schema": (DEFINITIONS, PROTOBUF, nested_schema(), 400),
    "protobuf length": (CONFIGMAPS, PROTOBUF, MAGIC + b"\x0a\xff\xff\xff\xff\x0f", 400),
    "too large": (CONFIGMAPS, JSON, b'{"data":{"a":"' + b"x" * (3 << 20) + b'"}}', 413),
}


@pytest.mark.parametrize("name", BODIES)
async def test_hostile_body_is_rejected_without_leftovers(server, name):
    path, content_type, body, code = BODIES[name]
    headers = {"content-type": content_type}
    if name == "gzip bomb":
        headers["content-encoding"] = "gzip"
    await server.request("GET", CONFIGMAPS)
    before = asyncio.all_tasks()
    answer = await server.request("POST", path, body=body, headers=headers)
    assert (answer.code, answer.json()["kind"]) == (code, "Status")
    assert not workers.are_workers_busy()
    assert asyncio.all_tasks() <= before
    assert server.core.app.busy == 0
    assert (await server.request("POST", CONFIGMAPS, body=b'{"metadata":{"name":"a"}}')).code == 201


# -- storms ------------------------------------------------------------------------------------------------------------


async def test_labels_of_metrics_are_no_texts_of_anonymous_clients(server):
    client = server.anonymous()
    for text in ("x" * 100_000, "y" * 100_000):
        for path in (f"/apis/{text}/v1/a", f"/api/v1/namespaces/default/{text}", f"/api/v1/pods/a/{text}", f"/{text}"):
            assert (await client.request("GET", path)).code in (403, 404)
    metrics = (await server.request("GET", "/metrics")).body
    assert max(map(len, metrics.splitlines())) < 1000
    assert b'verb="OTHER"' in metrics


async def test_watches_that_end_leave_no_task_and_no_waiter(server):
    await server.request("GET", CONFIGMAPS)
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        for _ in range(WATCHES):
            await stack.enter_async_context(server.open("GET", f"{CONFIGMAPS}?watch=1"))
        assert server.core.app.busy == WATCHES
        metrics = (await server.request("GET", "/metrics")).body.decode()
        (running,) = [line for line in metrics.splitlines() if line.startswith("apiserver_longrunning_requests{")]
        assert running.endswith(f" {WATCHES}")
    await wait_until(lambda: server.core.app.busy == 0)
    await wait_until(lambda: asyncio.all_tasks() <= before)
    assert b"apiserver_longrunning_requests{" not in (await server.request("GET", "/metrics")).body


def service(name: str, **port: int) -> bytes:
    """Return a Service of type NodePort."""
    spec = {"type": "NodePort", "ports": [{"port": 80, **port}]}
    return json.dumps({"metadata": {"name": name}, "spec": spec}).encode()


async def test_node_port_goes_to_one_of_concurrent_creators(server):
    bodies = [service(f"a{number}", nodePort=30100) for number in range(CREATORS)]
    answers = await asyncio.gather(*(server.request("POST", SERVICES, body=body) for body in bodies))
    assert sorted(answer.code for answer in answers) == [201] + [422] * (CREATORS - 1)


async def test_node_ports_of_a_small_range_are_allocated_once_each_and_released():
    options = APIServerOptions(ephemeral=True, service_node_port_range=(30000, 30004))
    async with InProcessAPIServer(options=options) as server:
        for turn in range(2):
            bodies = [service(f"a{turn}-{number}") for number in range(CREATORS)]
            answers = await asyncio.gather(*(server.request("POST", SERVICES, body=body) for body in bodies))
            created = [answer.json() for answer in answers if answer.code == 201]
            ports = {tree["spec"]["ports"][0]["nodePort"] for tree in created}
            assert (len(created), ports) == (5, set(range(30000, 30005)))
            deletions = (server.request("DELETE", f"{SERVICES}/{tree['metadata']['name']}") for tree in created)
            assert {answer.code for answer in await asyncio.gather(*deletions)} == {200}


# -- connections -------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def listening(server: InProcessAPIServer, clock: FakeClock, tls: ssl.SSLContext | None = None) -> AsyncIterator:
    """Serve the application over TCP; yield the serving and its port."""
    serving = http1.Serving(server.core.app, clock=clock)
    sock = http1.listen("127.0.0.1", 0)
    await serving.start(sock, tls)
    try:
        yield serving, sock.getsockname()[1]
    finally:
        await serving.stop(grace_seconds=0)


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    """Return what the server sends before it closes; the kernel resets the connection of a server that had bytes left to read."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", b""),
        (b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b""),
        (b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Enc", b""),
        (b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 40_000, b"HTTP/1.1 400"),
        (
            b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 10_000,
            b"HTTP/1.1 4",
        ),
    ],
)
async def test_unfinished_request_is_cut_off_and_its_connection_is_released(server, raw, answer):
    clock = FakeClock()
    async with listening(server, clock) as (serving, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw % CONFIGMAPS.encode())
        rest = asyncio.ensure_future(reader.read())
        await advance_until(rest.done, clock)
        assert rest.result().startswith(answer)
        await wait_until(lambda: not serving.connections)
        assert server.core.app.busy == 0
        await hang_up(writer)


async def test_body_of_tiny_chunks_is_one_body(server):
    head = (
        b"POST %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" % CONFIGMAPS.encode()
    )
    body = b'{"metadata":{"name":"tiny"},"data":{"a":"%b"}}' % (b"x" * 20_000)
    async with listening(server, FakeClock()) as (serving, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        assert answer.startswith(b"HTTP/1.1 403")  # by an anonymous user, after the whole body
        await wait_until(lambda: not serving.connections)
        await hang_up(writer)


async def test_requests_of_a_client_that_reads_no_responses_wait(server):
    clock = FakeClock()
    requests = b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n" * 400_000
    async with listening(server, clock) as (serving, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(requests)
        await wait_until(lambda: any(connection.flow.write_paused for connection in serving.connections))
        assert writer.transport.get_write_buffer_size() > len(requests) // 4
        await hang_up(writer)
        await wait_until(lambda: not serving.connections)
        assert server.core.app.busy == 0


async def test_half_tls_handshake_is_closed(server, tmp_path, monkeypatch):
    monkeypatch.setattr(http1, "HANDSHAKE_SECONDS", 0.05)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pems = make_server("x", ["127.0.0.1"], make_authority(), now=RealClock().now(), life=timedelta(days=1))
    path = tmp_path / "server.pem"
    path.write_bytes(pems.certificate + pems.key)
    tls.load_cert_chain(path)
    async with listening(server, FakeClock(), tls) as (serving, port):
        links = [await asyncio.open_connection("127.0.0.1", port) for _ in range(50)]
        for number, (_, writer) in enumerate(links):
            writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[: number % 12])
        closed = await asyncio.wait_for(asyncio.gather(*(until_closed(reader) for reader, _ in links)), HANG_SECONDS)
        assert set(closed) <= {b"", b"\x15\x03\x01\x00\x02\x02\x16"}
        assert not serving.connections
        for _, writer in links:
            await hang_up(writer)
