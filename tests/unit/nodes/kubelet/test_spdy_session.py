"""Streams of a SPDY session over an in-memory connection."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.nodes.kubelet.spdy_client import SpdyClient

from steersman.asynckit.clock import FakeClock
from steersman.nodes.kubelet import spdy
from steersman.nodes.kubelet.spdy_session import Session


class Pipe:
    """Connection in memory; the client's end has ``read`` and ``write``."""

    def __init__(self):
        self.to_server, self.to_client = asyncio.StreamReader(), asyncio.StreamReader()

    async def receive(self):
        while data := await self.to_server.read(65536):
            yield data

    async def send(self, data):
        self.to_client.feed_data(data)

    def abort(self):
        self.to_server.feed_eof()

    def write(self, data):
        self.to_server.feed_data(data)

    async def read(self, size):
        return await self.to_client.read(size)


@asynccontextmanager
async def session(clock=None, accepts=lambda headers: True):
    """Run a session; yields the client, the opened streams, the pipe and the running task."""
    pipe, streams = Pipe(), []
    served = Session(pipe, accepts=accepts, opened=streams.append, clock=clock or FakeClock())

    async def run():
        await served.run()
        pipe.to_client.feed_eof()

    running = asyncio.create_task(run())
    yield SpdyClient(pipe, pipe), streams, pipe, running
    if not running.done():
        pipe.abort()
    await running


async def test_session_carries_data_both_ways_until_both_sides_close():
    async with session() as (client, streams, _, _):
        client.open(1, name="a")
        client.send(client.encoder.data(1, b"hello") + client.encoder.data(1, b"", last=True))
        await client.until(lambda: client.replied)
        stream = streams[0]
        assert (stream.id, stream.headers) == (1, {"name": "a"})
        assert [await stream.read(), await stream.read()] == [b"hello", b""]
        await stream.write(b"x" * 100_000)
        await stream.close()
        await stream.write(b"dropped")
        await client.until(lambda: 1 in client.ended)
        assert client.data[1] == b"x" * 100_000


async def test_session_answers_the_clients_pings_only():
    async with session() as (client, _, _, _):
        client.send(client.encoder.ping(2) + client.encoder.ping(7))
        await client.until(lambda: client.pings)
        assert client.pings == [7]


async def test_session_resets_rejected_streams():
    async with session(accepts=lambda headers: headers["name"] == "a") as (client, streams, _, _):
        client.open(1, name="a")
        client.open(3, name="b")
        await client.until(lambda: client.reset)
        assert client.reset == {3: spdy.CANCEL}
        assert [stream.id for stream in streams] == [1]


async def test_session_rejects_stream_ids_that_do_not_grow_or_are_the_servers():
    async with session() as (client, streams, _, _):
        for stream in (3, 3, 1, 4):
            client.open(stream, name="a")
        client.send(client.encoder.ping(1))
        await client.until(lambda: client.pings)
        assert [stream.id for stream in streams] == [3]
        assert client.reset == {1: spdy.PROTOCOL_ERROR, 3: spdy.PROTOCOL_ERROR, 4: spdy.PROTOCOL_ERROR}


async def test_session_refuses_streams_above_its_bound():
    async with session() as (client, streams, _, _):
        for stream in range(1, 2 * 513, 2):
            client.open(stream, name="a")
        await client.until(lambda: client.reset)
        assert client.reset == {1025: spdy.REFUSED_STREAM}
        assert len(streams) == 512
        await streams[0].close()
        client.send(client.encoder.data(1, b"", last=True))
        client.open(1027, name="a")
        await client.until(lambda: 1027 in client.replied)


async def test_reset_by_the_client_ends_the_stream():
    async with session() as (client, streams, _, _):
        client.open(1, name="a")
        client.send(client.encoder.data(1, b"unread") + client.encoder.reset(1, status=spdy.CANCEL))
        client.send(client.encoder.ping(1))
        await client.until(lambda: client.pings)
        assert streams[0].was_reset.is_set()
        assert await streams[0].read() == b""
        await streams[0].write(b"dropped")
        await streams[0].close()
        await streams[0].reset()
        assert (client.data, client.ended, client.reset) == ({}, set(), {})


async def test_reset_by_the_server_drops_what_the_client_sends():
    async with session() as (client, streams, _, _):
        client.open(1, name="a")
        await client.until(lambda: client.replied)
        await streams[0].reset()
        for _ in range(4):  # more than a stream holds
            client.send(client.encoder.data(1, b"x" * 65536))
        client.send(client.encoder.ping(1))
        await client.until(lambda: client.pings)
        assert client.reset == {1: spdy.CANCEL}


async def test_unread_stream_blocks_the_session_until_it_is_read():
    async with session() as (client, streams, _, _):
        client.open(1, name="a")
        client.send(client.encoder.data(1, b"x" * 200_000, last=True) + client.encoder.ping(1))
        await client.until(lambda: client.replied)
        total = 0
        assert not client.pings
        while chunk := await streams[0].read():
            assert len(chunk) <= 2 * 65536
            total += len(chunk)
        assert total == 200_000
        await client.until(lambda: client.pings)


async def test_goaway_ends_the_session():
    async with session() as (client, streams, _, running):
        client.open(1, name="a")
        client.send(client.encoder.goaway(0))
        await running
        assert streams[0].was_reset.is_set()
        assert await streams[0].read() == b""


async def test_malformed_frame_ends_the_session_with_goaway():
    async with session() as (client, _, _, running):
        client.open(1, name="a")
        client.send(b"\x80\x02\x00\x01\x00\x00\x00\x00")
        await running
        await client.until(lambda: False)
        assert client.last_stream == 1


async def test_idle_session_is_closed_after_four_hours():
    clock = FakeClock()
    async with session(clock=clock) as (client, streams, _, running):
        client.open(1, name="a")
        await client.until(lambda: client.replied)
        await clock.advance(4 * 3600 - 1)
        await streams[0].write(b"x")  # a frame of the server counts too
        await clock.advance(4 * 3600 - 1)
        assert not running.done()
        await clock.advance(2)
        await running


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_session_survives_any_sequence_of_frames(data):
    """The session ends without an exception when the client disconnects."""
    kinds = st.sampled_from(["open", "data", "fin", "reset", "ping", "noise"])
    steps = data.draw(st.lists(st.tuples(kinds, st.integers(0, 9), st.binary(max_size=40)), max_size=30))

    async def play():
        async with session() as (client, _, pipe, running):
            for kind, stream, content in steps:
                match kind:
                    case "open":
                        client.open(stream, name="a")
                    case "data" | "fin":
                        client.send(client.encoder.data(stream, content, last=kind == "fin"))
                    case "reset":
                        client.send(client.encoder.reset(stream, status=stream))
                    case "ping":
                        client.send(client.encoder.ping(stream))
                    case "noise":
                        client.send(content)
            pipe.abort()
            await running

    asyncio.run(play())


@pytest.mark.parametrize("flags", [0, spdy.FIN])
async def test_stream_may_be_opened_half_closed(flags):
    async with session() as (client, streams, _, _):
        client.send(client.encoder.stream(1, {"name": "a"}, flags=flags))
        await client.until(lambda: client.replied)
        await streams[0].write(b"x")
        await client.until(lambda: client.data)
        assert streams[0].is_closed_by_client is bool(flags)
