"""A connection after an upgrade: streams in place of the HTTP protocol."""

from __future__ import annotations

import asyncio
from typing import Final

#: High-water mark of the reader.
_READER_BYTES: Final = 64 * 1024


def hand_over(
    transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, received: bytes
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return streams over ``transport``, replacing its protocol. ``received``: bytes read after the request."""
    reader = asyncio.StreamReader(limit=_READER_BYTES, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    protocol.connection_made(transport)
    if received:
        reader.feed_data(received)
    transport.set_protocol(protocol)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
