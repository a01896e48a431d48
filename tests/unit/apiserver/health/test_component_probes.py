"""Probes of components, against sockets and scripted connections."""

from __future__ import annotations

import asyncio
import secrets

import pytest
import uvloop

from steersman.apiserver.health import component_probes
from steersman.apiserver.health.component_probes import Components, Health, probe_port, probe_socket, probe_store
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.runtime.health import Health as HealthPage
from steersman.runtime.health import Unhealthy
from steersman.runtime.http import HttpServer
from steersman.storage.memory import MemoryStore

OK = Health(is_healthy=True, message="ok")


def unhealthy(message: str) -> Health:
    return Health(is_healthy=False, message=message)


class Peer:
    """Connection to a scripted peer."""

    def __init__(self, answer: bytes | Exception, *, is_tls: bool = True) -> None:
        self.answer = answer
        self.is_tls = is_tls
        self.received = b""
        self.is_over = isinstance(answer, Exception)

    async def open(self, host, port, *, ssl):
        assert (host, port, ssl is not None) == ("127.0.0.1", 10259, self.is_tls)
        assert ssl is None or not ssl.check_hostname
        if isinstance(self.answer, Exception):
            raise self.answer
        return self, self

    def write(self, data):
        self.received += data

    async def drain(self):
        pass

    async def read(self, limit):
        return self.answer[:limit]

    @property
    def transport(self):
        return self

    def abort(self):
        self.is_over = True


URL = 'Get "https://127.0.0.1:10259/healthz"'


@pytest.mark.parametrize(
    ("answer", "health"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nok", OK),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n{}", unhealthy("HTTP probe failed with statuscode: 403")),
        (b"", unhealthy("HTTP probe failed with statuscode: 0")),
        (b"not http", unhealthy(f"{URL}: invalid literal for int() with base 10: b'http'")),
        (ConnectionRefusedError(), unhealthy(f"{URL}: dial tcp 127.0.0.1:10259: connect: connection refused")),
        (TimeoutError(), unhealthy(f"{URL}: context deadline exceeded")),
        (OSError("gone"), unhealthy(f"{URL}: gone")),
    ],
)
async def test_probe_port_reports_errors_as_upstream(monkeypatch, answer, health):
    peer = Peer(answer)
    monkeypatch.setattr(asyncio, "open_connection", peer.open)
    assert await probe_port(10259) == health
    assert peer.is_over


async def test_probe_port_without_tls_uses_http(monkeypatch):
    peer = Peer(b"HTTP/1.1 200 OK\r\n\r\nok", is_tls=False)
    monkeypatch.setattr(asyncio, "open_connection", peer.open)
    assert await probe_port(10259, is_tls=False) == OK
    assert peer.received.startswith(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:10259\r\n")


REFUSED = unhealthy(f"{URL}: dial tcp 127.0.0.1:10259: connect: connection refused")


@pytest.mark.parametrize(
    ("answers", "health"),
    [
        ({(10259, True): OK}, OK),
        ({(10259, True): REFUSED, (10251, False): OK}, OK),
        ({(10259, True): REFUSED, (10251, False): unhealthy("refused, too")}, REFUSED),
        ({(10259, True): unhealthy("expired")}, unhealthy("expired")),
    ],
)
async def test_components_probe_upstream_port_then_own_port(monkeypatch, answers, health):
    async def probe(port, *, is_tls=True):
        return answers[port, is_tls]

    monkeypatch.setattr(component_probes, "probe_port", probe)
    assert await Components(MemoryStore(clock=FakeClock())).probe("scheduler") == health


async def test_probe_store_probes_storage():
    store = MemoryStore(clock=FakeClock())
    assert await probe_store(store) == OK
    await store.close()
    assert not (await probe_store(store)).is_healthy


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("is_abstract", [True, False])
def test_probe_socket_reads_healthz_of_component(tmp_path, loop_factory, is_abstract):
    path = f"@steersman-test-{secrets.token_hex(8)}" if is_abstract else str(tmp_path / "health.sock")
    page = HealthPage("healthz")
    failures: list[str] = []

    def check() -> None:
        if failures:
            raise Unhealthy(failures[0])

    page.add("controller", check)
    components = Components(MemoryStore(clock=FakeClock()))
    components.use_socket(path)

    async def probe() -> None:
        error = "connection refused" if is_abstract else "no such file or directory"
        message = f'Get "http://localhost/healthz": dial unix {path}: connect: {error}'
        assert await components.probe("scheduler") == unhealthy(message)
        server = HttpServer(socket_path=path, clock=RealClock())
        server.add("/healthz", page.page)
        async with server:
            assert await components.probe("scheduler") == await components.probe("controller-manager") == OK
            failures.append("stuck")
            assert await components.probe("scheduler") == unhealthy("HTTP probe failed with statuscode: 500")
        assert await probe_socket(path) == unhealthy(message)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(probe())
