"""Frames of the test kit's control channel: a server answers calls or closes the connection; a caller raises ChannelError only.

The first byte chooses the side: ``s`` for a server, ``c`` for a caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import cache
from typing import Any

from tests.busy_machine import HANG_SECONDS

from steersman.testing.host import channel

TOKENS = (b"s", b"c", b"\x00\x00\x00\x02\x00\x00\x00\x00{}", b"\x00\x00\x00\x11\x00\x00\x00\x00" + b'{"method":"echo"}', b"\x00\x00\x00\x11\x00\x00\x00\x01" + b'{"method":"echo"}x',
          b"\x00\x00\x00\x0d\x00\x00\x00\x00" + b'{"error":"E"}', b"\xff\xff\xff\xff", b'"arguments":{"a":1}', b'"result":[1]', b"\x00")  # fmt: skip


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def run(data: bytes) -> None:
    side, sent = data[:1], data[1:]
    if side == b"c":
        _call(sent)
    else:
        _loop().run_until_complete(_serve(sent))


def _call(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        with contextlib.suppress(channel.ChannelError):
            channel.call(ours, channel.Call("echo"))


async def _serve(sent: bytes) -> None:
    async def echo(data: bytes = b"", **arguments: Any) -> Any:
        return data or arguments

    failures: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: failures.append(context))
    server = channel.CallServer({"echo": echo})
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    serving = asyncio.ensure_future(server.serve_connection(*await asyncio.open_connection(sock=theirs)))
    writer.write(sent)
    writer.write_eof()
    await asyncio.wait_for(serving, HANG_SECONDS)
    await reader.read()
    writer.close()
    assert not failures, failures
