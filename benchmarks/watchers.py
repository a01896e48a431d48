"""Latency of watch events with many watchers: each changed object carries the time at which it was sent."""

from __future__ import annotations

import asyncio
import re
import time
from typing import cast

from benchmarks.client import Target

_STAMP = re.compile(rb'"t":"(\d+)"')
_BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s-%d"},"data":{"t":"%s"}}'


class _Watcher(asyncio.Protocol):
    def __init__(self, request: bytes, latencies: list[float]) -> None:
        self._request = request
        self._latencies = latencies
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's TLS transport implements the interface without being a subclass.
        transport = cast("asyncio.Transport", transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter_ns()
        data = self._rest + data
        cut = data.rfind(b"\n") + 1
        self._rest = data[cut:]
        for stamp in _STAMP.findall(data, 0, cut):
            self._latencies.append((now - int(stamp)) / 1e9)


async def fan_out(
    target: Target, *, watchers: int, changes_per_second: int, seconds: float, writers: int = 16
) -> tuple[list[float], int]:
    """Return the latencies of all deliveries, and the expected number of deliveries.

    Several connections send the changes, as the requests of one connection are answered one after the other.
    """
    loop = asyncio.get_running_loop()
    context = target.context()
    latencies: list[float] = []
    path = "/api/v1/namespaces/default/configmaps"
    watch = target.request("GET", f"{path}?watch=1")
    transports = []
    for _ in range(watchers):
        transport, _ = await loop.create_connection(
            lambda: _Watcher(watch, latencies), target.host, target.port, ssl=context
        )
        transports.append(transport)
    connections = [await asyncio.open_connection(target.host, target.port, ssl=context) for _ in range(writers)]
    drains = [asyncio.create_task(_drain(reader)) for reader, _ in connections]
    for number, (_, writer) in enumerate(connections):  # the first requests of a server import modules on demand
        writer.write(target.request("POST", path, _BODY % (b"first", number, b"")))
    await asyncio.sleep(1)
    changes = int(changes_per_second * seconds)
    start = time.perf_counter()
    for number in range(changes):
        delay = start + number / changes_per_second - time.perf_counter()
        if delay > 0:
            await asyncio.sleep(delay)
        writer = connections[number % writers][1]
        writer.write(target.request("POST", path, _BODY % (b"w", number, b"%d" % time.perf_counter_ns())))
    deadline = time.perf_counter() + 10
    while len(latencies) < changes * watchers and time.perf_counter() < deadline:
        await asyncio.sleep(0.05)
    for drain in drains:
        drain.cancel()
    for _, writer in connections:
        writer.close()
    for transport in transports:
        transport.close()
    return latencies, changes * watchers


async def _drain(reader: asyncio.StreamReader) -> None:
    while await reader.read(65536):
        pass
