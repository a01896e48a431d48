"""Streams in place of the protocol (upgrades end to end: ``test_tunnel``)."""

import asyncio
import socket

from tests.unit.listening import hang_up

from steersman.apiserver.server.http1.handover import hand_over


async def test_handed_over_connection_is_a_pair_of_streams_that_begins_with_the_received_bytes():
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    transport, before = await loop.create_connection(asyncio.Protocol, sock=ours)
    reader, writer = hand_over(transport, loop, b"received, ")
    assert transport.get_protocol() is not before
    far_reader, far_writer = await asyncio.open_connection(sock=theirs)
    far_writer.write(b"then sent")
    assert await reader.readexactly(19) == b"received, then sent"
    writer.write(b"back")
    assert await far_reader.readexactly(4) == b"back"
    await hang_up(far_writer)
    assert await reader.read() == b""
    await hang_up(writer)
