"""HTTP/2 frames of a gRPC server: no exception in the client's connection, whose calls all end, however the bytes are split.

The first byte seeds the split; the rest is what the server sends while a unary call and a stream are open.
"""

from __future__ import annotations

import asyncio
import random
from functools import cache

from steersman.asynckit.clock import FakeClock
from steersman.grpc.connection import Connection
from steersman.grpc.errors import RpcError
from steersman.grpc.frames import SETTINGS, frame
from steersman.grpc.headers import Method

TOKENS = (b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", b"\x00\x00\x00\x04\x01\x00\x00\x00\x00", b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88", b"\x00\x00\x05\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00",
          b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08", b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x05", b"\x00\x00\x08\x07\x00\x00\x00\x00\x00", b"\x00\x00\x08\x06\x00\x00\x00\x00\x00abcdefgh",
          b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x05", b"\x00\x0bgrpc-status\x010", b"\x00\x0cgrpc-message\x03%ff", b"\x00\x00\x00\x09\x04\x00\x00\x00\x01", b"\x05", b"\x3f\xe1\x1f", b"\xff")  # fmt: skip
METHOD = Method("/test/echo", scheme="http", authority="peer")


class _Transport(asyncio.Transport):
    """Transport to a peer that reads everything."""

    def __init__(self) -> None:
        super().__init__()
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def close(self) -> None:
        self.is_closed = True

    abort = close


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def run(data: bytes) -> None:
    seed, sent = data[:1], data[1:]
    dice = random.Random(seed)
    pieces, at = [], 0
    while at < len(sent):
        size = dice.choice((1, 2, 5, 9, 50))
        pieces.append(sent[at : at + size])
        at += size
    whole, split = (_loop().run_until_complete(_outcomes(parts)) for parts in ([sent], pieces))
    assert whole == split, (whole, split)


async def _outcomes(pieces: list[bytes]) -> list[str]:
    """Return the response of the unary call, the messages of the stream, and errors, after the connection is lost."""
    transport = _Transport()
    connection = Connection(FakeClock(), lambda _: None)
    connection.connection_made(transport)
    connection.data_received(frame(SETTINGS, 0, 0, b""))
    unary = connection.start_unary(METHOD, b"request")
    stream = connection.start_stream(METHOD, b"request")
    for piece in pieces:
        if transport.is_closed:
            break
        connection.data_received(piece)
    connection.connection_lost(None)
    outcomes = [_outcome(unary.response)]
    try:
        while (message := await asyncio.wait_for(stream.read(), timeout=5)) is not None:
            outcomes.append(repr(message))
    except RpcError as error:
        outcomes.append(repr(error))
    return outcomes


def _outcome(response: asyncio.Future[bytes]) -> str:
    assert response.done()
    error = response.exception()
    assert error is None or isinstance(error, RpcError), error
    return repr(error or response.result())
