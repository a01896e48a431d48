"""Network between clients and etcd members, with faults."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts.etcd_cluster import EtcdMember


class Link:
    """TCP proxy between a client and a member."""

    def __init__(self, member: EtcdMember) -> None:
        self._member = member
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._refuses = False
        self.url = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self._refuses:
                return
            upstream, onward = await asyncio.open_connection("127.0.0.1", self._member.client_port)
            self._writers.add(onward)
            await asyncio.gather(self._relay(reader, onward), self._relay(upstream, writer))
        except OSError:
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                while data := await reader.read(65536):
                    await self._flows.wait()
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    def freeze(self) -> None:
        """Deliver nothing, as a network that drops packets."""
        self._flows.clear()

    def cut(self) -> None:
        """Reset connections and refuse new ones."""
        self._refuses = True
        for writer in list(self._writers):
            writer.transport.abort()

    def heal(self) -> None:
        self._refuses = False
        self._flows.set()

    async def close(self) -> None:
        self.heal()
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
