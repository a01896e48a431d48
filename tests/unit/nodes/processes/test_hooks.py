"""Lifecycle hooks: exec, HTTP and sleep, and their failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.nodes.processes.hooks import run_hook


async def execute(words: Sequence[str]) -> int:
    if words[0] == "missing":
        raise FileNotFoundError(2, "No such file or directory")
    return int(words[0])


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["0"], ""),
        (["7", "x"], "command '7 x' exited with 7: "),
        (["missing"], "command 'missing': no such file or directory"),
    ],
)
async def test_exec_hook_reports_the_exit_code(command: list[str], problem: str) -> None:
    assert await run_hook({"exec": {"command": command}}, {}, execute=execute, clock=RealClock()) == problem


async def test_http_hook_sends_the_request() -> None:
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 500 no\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    container: dict[str, Any] = {"ports": [{"name": "web", "containerPort": port}]}
    hook = {"httpGet": {"port": "web", "path": "/stop", "httpHeaders": [{"name": "X-A", "value": "b"}]}}
    assert await run_hook(hook, container, execute=execute, clock=RealClock()) == ""
    assert requests[0].startswith(b"GET /stop HTTP/1.1\r\n")
    assert b"X-A: b\r\n" in requests[0]
    server.close()
    await server.wait_closed()
    assert "Connect call failed" in await run_hook(hook, container, execute=execute, clock=RealClock())


async def test_sleep_hook_waits_on_the_clock() -> None:
    clock = FakeClock()
    running = asyncio.create_task(run_hook({"sleep": {"seconds": 30}}, {}, execute=execute, clock=clock))
    await clock.advance(29)
    assert not running.done()
    await clock.advance(1.1)
    assert await running == ""
