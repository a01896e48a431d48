"""Outgoing frames: when they are written, and frames that are dropped."""

import asyncio

import pytest
from h2.errors import ErrorCodes
from tests.unit.apiserver.server.http2.conftest import Transport
from tests.unit.http2_peer import Http2Peer

from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX
from steersman.apiserver.server.http2.budgets import FrameBudgets
from steersman.apiserver.server.http2.frames import OutgoingFrames, server_protocol
from steersman.asynckit.clock import FakeClock

HEAD = [(b":status", b"200"), (b"audit-id", b"unique")]


@pytest.fixture
async def link():
    """Outgoing frames of a connection with two open streams, its protocol and its transport."""
    peer = Http2Peer()
    transport = Transport(peer)
    protocol = server_protocol(4)
    frames = OutgoingFrames(protocol, transport, asyncio.get_running_loop(), FrameBudgets(4, clock=FakeClock()))
    protocol.receive_data(peer.preface({4: 1 << 30}) + peer.window_update(0, 1 << 30) + peer.headers() + peer.headers())
    frames.flush()
    return frames, protocol, transport


async def test_frames_are_written_at_the_end_of_the_iteration(link):
    frames, _, transport = link
    frames.head(1, HEAD, ends=False)
    assert frames.data(1, b"body", ends=True) == 4
    before = transport.writes
    await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop
    assert (transport.writes, transport.peer.stream(1).body) == (before + 1, b"body")


async def test_large_data_is_written_at_once_so_that_the_transport_can_pause_it(link):
    frames, _, transport = link
    frames.head(1, HEAD, ends=False)
    assert frames.data(1, bytes(WRITE_BYTES_MAX + 1), ends=False) == WRITE_BYTES_MAX + 1
    assert len(transport.peer.stream(1).body) == WRITE_BYTES_MAX + 1


async def test_frames_of_a_stream_that_the_client_has_reset_are_dropped(link):
    frames, protocol, transport = link
    protocol.receive_data(transport.peer.reset(1))
    frames.head(1, HEAD, ends=False)
    assert frames.data(1, b"body", ends=True) == 4
    frames.flush()
    assert transport.peer.stream(1).blocks == []


async def test_all_frames_are_dropped_after_close(link):
    frames, _, transport = link
    frames.reset(1, ErrorCodes.CANCEL)
    frames.close()
    assert transport.peer.stream(1).reset == ErrorCodes.CANCEL
    before = transport.writes
    frames.head(3, HEAD, ends=False)
    assert frames.data(3, b"body", ends=True) == 4
    assert frames.window(3) == 0
    frames.reset(3, ErrorCodes.CANCEL)
    frames.acknowledge(3, 10)
    frames.ping(b"12345678")
    frames.goaway(3, ErrorCodes.NO_ERROR)
    frames.flush()
    assert transport.writes == before


async def test_headers_with_another_value_in_each_response_are_not_indexed(link):
    frames, protocol, _ = link
    before = len(protocol.encoder.header_table.dynamic_entries)
    frames.head(1, [(b":status", b"200"), (b"audit-id", b"a"), (b"content-length", b"1")], ends=True)
    assert len(protocol.encoder.header_table.dynamic_entries) == before


async def test_frames_continue_after_goaway_of_either_side(link):
    frames, protocol, transport = link
    frames.goaway(3, ErrorCodes.NO_ERROR)
    protocol.receive_data(transport.peer.goaway() + transport.peer.ping())
    frames.head(1, HEAD, ends=True)
    frames.flush()
    assert transport.peer.goaways == [(3, 0)]
    assert transport.peer.stream(1).code == 200
