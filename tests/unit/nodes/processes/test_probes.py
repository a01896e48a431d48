"""Probes of process containers."""

import sys

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.listening import closed_port, listening
from tests.unit.nodes.processes.grpc_server import health_server

from steersman.asynckit.clock import RealClock
from steersman.nodes.processes.probes import ProbeError, ProbeThreshold, run_probe


def test_probe_result_changes_after_its_threshold():
    verdict = ProbeThreshold({"failureThreshold": 2}, passing=False)
    assert [verdict.count(answer) for answer in (True, False, True, False, False)] == [True, False, False, False, True]
    assert not verdict.passing


def test_probe_has_failed_after_enough_failures_although_it_never_passed():
    verdict = ProbeThreshold({"failureThreshold": 2}, passing=False)
    failed = []
    for answer in (False, True, False, False):
        verdict.count(answer)
        failed.append(verdict.has_failed)
    assert failed == [False, False, False, True]


async def probe(handler, *, execute=None, container=None, seconds=HANG_SECONDS):
    described = {**handler, "timeoutSeconds": seconds}
    return await run_probe(described, container or {}, execute=execute, clock=RealClock())


@pytest.mark.parametrize(("code", "holds"), [(200, True), (302, True), (404, False), (500, False)])
async def test_http_probe(code, holds):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %d X\r\n\r\n" % code)
        writer.close()

    async with listening(answer) as port:
        result = await probe({"httpGet": {"port": port, "path": "/"}})
    assert result == (holds, "" if holds else f"HTTP probe failed with statuscode: {code}")


async def test_probe_of_a_port_where_no_process_listens_is_refused():
    with closed_port() as port:
        text = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
        http = await probe({"httpGet": {"port": port, "path": "/x"}})
        tcp = await probe({"tcpSocket": {"port": port}})
    assert http == (False, f'Get "http://127.0.0.1:{port}/x": {text}')
    assert tcp == (False, text)


async def test_http_probe_times_out():
    async def silent(reader, writer):
        await reader.read()

    async with listening(silent) as port:
        result = await probe({"httpGet": {"port": port}}, seconds=0.01)
    text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert result == (False, f'Get "http://127.0.0.1:{port}/": {text}')


async def test_tcp_probe_connects():
    async def accept(reader, writer):
        await reader.read()

    async with listening(accept) as port:
        container = {"ports": [{"name": "web", "containerPort": port}]}
        assert await probe({"tcpSocket": {"port": "web"}}, container=container) == (True, "")


@pytest.mark.parametrize(("code", "holds"), [(0, True), (1, False)])
async def test_exec_probe_has_the_commands_output(code, holds):
    async def execute(command):
        assert command == ["a"]
        return code, b"out\xff"

    assert await probe({"exec": {"command": ["a"]}}, execute=execute) == (holds, "out\ufffd")


async def test_exec_probe_that_cannot_run_is_an_error():
    async def execute(command):
        raise FileNotFoundError(2, "No such file or directory")

    with pytest.raises(ProbeError, match=r"^failed to exec in container: no such file or directory$"):
        await probe({"exec": {"command": ["a"]}}, execute=execute)


@pytest.mark.parametrize("handler", [{"tcpSocket": {"port": "none"}}, {"httpGet": {"port": 0}}])
async def test_probe_of_an_unknown_port_is_an_error(handler):
    with pytest.raises(ProbeError, match=r"^couldn't find port: "):
        await probe(handler)


@pytest.mark.parametrize(
    ("service", "failure"),
    [
        ("", ""),
        ("sick", 'service unhealthy (responded with "NOT_SERVING")'),
        ("new", 'service unhealthy (responded with "UNKNOWN")'),
        ("none", "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"),
    ],
)
async def test_grpc_probe_requests_the_health_of_a_service(service, failure):
    async with health_server() as (port, agents):
        assert await probe({"grpc": {"port": port, "service": service}}) == (not failure, failure)
    assert agents[0].startswith("kube-probe/1.36")


async def test_grpc_probe_of_a_server_without_the_protocol():
    async with health_server(method="Other") as (port, _):
        has_passed, text = await probe({"grpc": {"port": port}})
    assert not has_passed
    assert text.startswith("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ")


async def test_grpc_probe_times_out_while_it_connects():
    async def silent(reader, writer):
        await reader.read()

    async with listening(silent) as port:
        result = await probe({"grpc": {"port": port}}, seconds=0.01)
    address = f"127.0.0.1:{port}"
    text = f'timeout: failed to connect service "{address}" within 0.01s: context deadline exceeded'
    assert result == (False, text)


async def test_grpc_probe_without_hpack_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "hpack", None)
    with pytest.raises(
        ProbeError, match=r"^a gRPC probe needs hpack, which is not installed: pip install 'steersman.*\[grpc\]'"
    ):
        await probe({"grpc": {"port": 1}})


async def test_grpc_probe_of_a_port_where_nothing_listens_times_out():
    with closed_port() as port:
        result = await probe({"grpc": {"port": port}}, seconds=0.01)
    text = f'timeout: failed to connect service "127.0.0.1:{port}" within 0.01s: context deadline exceeded'
    assert result == (False, text)
