"""Servers and clients of a test, whose connections have ended when their block is left: none outlives the test's loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """End a connection at once: an orderly end of TLS would wait for the other side's part of it."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def listening(serve: Serve, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve each connection with ``serve``; yield the port."""
    connected: list[tuple[asyncio.Task[None], asyncio.StreamWriter]] = []
    over: list[asyncio.Task[None]] = []

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        connected.append((task, writer))
        await asyncio.wait([task])

    server = await asyncio.start_server(keep, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        while connected:  # one may have been accepted just now
            task, writer = connected.pop()
            task.cancel()
            await asyncio.wait([task])
            await hang_up(writer)
            over.append(task)
    for task in over:
        error = None if task.cancelled() else task.exception()
        # A connection that the other side ends is no failure of who serves it.
        if error is not None and not isinstance(error, (OSError, EOFError)):
            raise error


@asynccontextmanager
async def connected_to(
    host: str, port: int, *, tls: ssl.SSLContext | None = None, server_hostname: str | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection; ``server_hostname`` is the name to send by SNI, by default the host."""
    reader, writer = await asyncio.open_connection(host, port, ssl=tls, server_hostname=server_hostname)
    try:
        yield reader, writer
    finally:
        await hang_up(writer)


@contextmanager
def closed_port() -> Iterator[int]:
    """Yield a port that refuses connections: it is bound, so that no other process can listen there."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
