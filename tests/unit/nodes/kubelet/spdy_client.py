"""A SPDY client for tests: it upgrades a connection, opens streams and collects what they receive."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import asynccontextmanager

from tests.unit.listening import connected_to

from steersman.nodes.kubelet import spdy


class SpdyClient:
    """A client over a pair of asyncio streams, or what else has ``read`` and ``write``."""

    def __init__(self, reader, writer) -> None:
        self._reader, self._writer = reader, writer
        self.frames = spdy.Reader()
        self.encoder = spdy.Writer()
        self.data = defaultdict(bytes)
        self.ended = set()
        self.reset = {}
        self.replied = set()
        self.pings = []
        self.last_stream = None
        self.has_ended = False

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    def open(self, stream: int, **headers: str) -> None:
        """Open a stream."""
        self.send(self.encoder.stream(stream, headers))

    async def until(self, condition) -> None:
        """Receive until ``condition()`` or the end of the connection."""
        while not condition() and not self.has_ended:
            data = await self._reader.read(65536)
            self.has_ended = not data
            for frame in self.frames.feed(data):
                self._receive(frame)

    def _receive(self, frame) -> None:
        if isinstance(frame, spdy.Data):
            assert frame.stream not in self.ended
            assert frame.stream not in self.reset
            self.data[frame.stream] += frame.data
            if frame.flags & spdy.FIN:
                self.ended.add(frame.stream)
        elif frame.type == spdy.SYN_REPLY:
            self.replied.add(frame.stream)
        elif frame.type == spdy.RST_STREAM:
            self.reset[frame.stream] = frame.status
        elif frame.type == spdy.PING:
            self.pings.append(frame.stream)
        elif frame.type == spdy.GOAWAY:
            self.last_stream = frame.stream

    def status(self, stream: int):
        return json.loads(self.data[stream])


def upgrade_request(path: str, *protocols: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: h", "Connection: Upgrade", "Upgrade: SPDY/3.1"]
    lines += [f"X-Stream-Protocol-Version: {name}" for name in protocols]
    return "\r\n".join([*lines, "Content-Length: 0", "", ""]).encode()


@asynccontextmanager
async def upgraded(host: str, port: int, path: str, *protocols: str):
    """Upgrade a connection; yield its client. The response is in ``client.head``."""
    async with connected_to(host, port) as (reader, writer):
        writer.write(upgrade_request(path, *protocols))
        client = SpdyClient(reader, writer)
        client.head = (await reader.readuntil(b"\r\n\r\n")).decode()
        yield client
