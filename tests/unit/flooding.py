"""Server whose responses are far too large, on the test's own event loop."""

from __future__ import annotations

import asyncio
from typing import Final

BODY_BYTES: Final = 100 << 20
#: Bytes that may be under way in buffers of sockets, TLS and streams.
BUFFERED_BYTES_MAX: Final = 16 << 20
_PIECE: Final = b" " * 65536


class Flood:
    """Answers requests with a body of ``BODY_BYTES``, as fast as the client reads; to be served by ``listening``."""

    def __init__(self) -> None:
        #: Bytes of bodies that were handed to the transport.
        self.sent_bytes = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % BODY_BYTES)
        for _ in range(BODY_BYTES // len(_PIECE)):
            writer.write(_PIECE)
            self.sent_bytes += len(_PIECE)
            await writer.drain()
            # Over TLS, drain() waits for nothing once the socket has failed: a pass of the loop reports the end.
            await asyncio.sleep(0)  # noqa: TID251
