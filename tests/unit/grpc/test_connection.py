"""The connection against a scripted peer: what grpcio's servers do not send."""

from __future__ import annotations

import asyncio

import pytest
from hpack import Encoder

from steersman.asynckit.clock import FakeClock
from steersman.grpc import frames
from steersman.grpc.calls import framed
from steersman.grpc.connection import Connection
from steersman.grpc.errors import Code, RpcError
from steersman.grpc.frames import frame
from steersman.grpc.headers import Method

ECHO = Method("/test/echo", scheme="http", authority="peer")


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self):
        super().__init__()
        self.sent, self.writes, self.is_closed = b"", 0, False
        #: Ends the turn of the event loop for the connection.
        self.flush = lambda: None

    def write(self, data):
        self.sent += data
        self.writes += 1

    def close(self):
        self.is_closed = True

    abort = close

    def frames(self):
        """Return kind, flags, stream and payload of the frames since the last call."""
        self.flush()
        data, self.sent = self.sent.removeprefix(frames.PREFACE), b""
        result = []
        while data:
            size = int.from_bytes(data[:3], "big")
            result.append((data[3], data[4], int.from_bytes(data[5:9], "big"), data[9 : 9 + size]))
            data = data[9 + size :]
        return result


class Peer:
    """A connection whose other side the test plays."""

    def __init__(self):
        self.clock = FakeClock()
        self.ends = []
        self.transport = Transport()
        self.connection = Connection(self.clock, self.ends.append)
        self.transport.flush = self.connection._flush
        self.connection.connection_made(self.transport)
        self._encoder = Encoder()

    def send(self, *parts):
        self.connection.data_received(b"".join(parts))

    def headers(self, stream, *fields, flags=frames.END_HEADERS):
        return frame(frames.HEADERS, flags, stream, self._encoder.encode(fields))

    def response(self, stream, message=b"", *trailers):
        return b"".join(
            [
                self.headers(stream, (":status", "200")),
                frame(frames.DATA, 0, stream, framed(message)),
                self.headers(
                    stream,
                    *(trailers or [("grpc-status", "0")]),
                    flags=frames.END_HEADERS | frames.END_STREAM,
                ),
            ]
        )


@pytest.fixture
async def peer():
    peer = Peer()
    peer.send(frames.settings())
    peer.transport.frames()
    yield peer
    peer.connection.close()


def failure(call):
    error = call.response.exception()
    assert isinstance(error, RpcError)
    return error.code, error.is_unsent


async def test_connection_is_ready_after_the_peers_settings():
    peer = Peer()
    assert [sent[0] for sent in peer.transport.frames()] == [frames.SETTINGS, frames.WINDOW_UPDATE]
    assert not peer.connection.ready.done()
    peer.send(frames.settings())
    assert peer.connection.ready.result() is None
    assert peer.transport.frames() == [(frames.SETTINGS, frames.ACK, 0, b"")]
    peer.connection.close()


async def test_response_may_arrive_octet_by_octet(peer):
    call = peer.connection.start_unary(ECHO, b"")
    for octet in peer.response(1, b"hello"):
        peer.send(bytes([octet]))
    assert call.response.result() == b"hello"


async def test_repeated_headers_are_indexed_in_both_directions(peer):
    sizes = []
    for number in range(4):
        call = peer.connection.start_unary(ECHO, b"%d" % number)
        sent = peer.transport.frames()
        sizes.append(len(sent[0][3]))
        peer.send(peer.response(call.number, b"%d" % number))
        assert call.response.result() == b"%d" % number
    assert sizes[1] == sizes[2] == sizes[3] == len(ECHO.headers) < sizes[0]


async def test_padded_and_continued_frames_are_read(peer):
    call = peer.connection.start_unary(ECHO, b"")
    block = peer._encoder.encode([(":status", "200")])
    peer.send(
        frame(frames.HEADERS, frames.PADDED | frames.PRIORITY, 1, b"\x02" + bytes(5) + bytes(2)),
        frame(frames.CONTINUATION, frames.END_HEADERS, 1, block),
        frame(frames.DATA, frames.PADDED, 1, b"\x03" + framed(b"x") + bytes(3)),
        peer.headers(1, ("grpc-status", "0"), flags=frames.END_HEADERS | frames.END_STREAM),
    )
    assert call.response.result() == b"x"


async def test_body_waits_for_windows_of_stream_and_connection(peer):
    peer.send(frames.settings((frames.SETTING_INITIAL_WINDOW, 10)))
    peer.transport.frames()
    call = peer.connection.start_unary(ECHO, b"x" * 20)
    sent = peer.transport.frames()
    assert [(kind, flags, len(payload)) for kind, flags, _, payload in sent[1:]] == [(frames.DATA, 0, 10)]
    peer.send(frames.window_update(1, 5))
    peer.send(frames.settings((frames.SETTING_INITIAL_WINDOW, 20)))
    sent = [item for item in peer.transport.frames() if item[0] == frames.DATA]
    assert [(flags, len(payload)) for _, flags, _, payload in sent] == [(0, 5), (frames.END_STREAM, 10)]
    peer.connection.cancel(call)


async def test_received_bytes_are_credited_to_connection_and_stream(peer):
    call = peer.connection.start_unary(ECHO, b"")
    peer.transport.frames()
    part = bytes(frames.PAYLOAD_MAX)
    for _ in range(256):
        peer.send(frame(frames.DATA, 0, 1, part))
    credited = dict.fromkeys((0, 1), 0)
    for kind, _, stream, payload in peer.transport.frames():
        assert kind == frames.WINDOW_UPDATE
        credited[stream] += int.from_bytes(payload, "big")
    assert credited == {0: 4 << 20, 1: 4 << 20}
    peer.connection.cancel(call)


async def test_unread_messages_of_a_stream_are_not_credited(peer):
    stream = peer.connection.start_stream(ECHO, b"")
    peer.transport.frames()
    message = framed(bytes(frames.PAYLOAD_MAX - 5))
    for _ in range(100):
        peer.send(frame(frames.DATA, 0, 1, message))
    assert peer.transport.frames() == []
    for _ in range(100):
        assert len(await stream.read()) == frames.PAYLOAD_MAX - 5
    (update,) = peer.transport.frames()
    assert update[:3] == (frames.WINDOW_UPDATE, 0, 1)


@pytest.mark.parametrize(
    ("reset", "expected"),
    [(7, (Code.UNAVAILABLE, True)), (8, (Code.CANCELLED, False)), (2, (Code.INTERNAL, False))],
)
async def test_reset_stream_fails_its_call_alone(peer, reset, expected):
    call, other = peer.connection.start_unary(ECHO, b""), peer.connection.start_unary(ECHO, b"")
    peer.send(frames.rst_stream(1, reset), peer.response(3, b"fine"))
    assert failure(call) == expected
    assert other.response.result() == b"fine"


async def test_goaway_fails_later_streams_as_unsent_and_finishes_the_others(peer):
    first, second = peer.connection.start_unary(ECHO, b""), peer.connection.start_unary(ECHO, b"")
    peer.send(frame(frames.GOAWAY, 0, 0, (1).to_bytes(4, "big") + bytes(4)))
    assert failure(second) == (Code.UNAVAILABLE, True)
    assert peer.ends == [peer.connection]
    assert not peer.transport.is_closed
    peer.send(peer.response(1, b"fine"))
    assert first.response.result() == b"fine"
    assert peer.transport.is_closed


async def test_lost_connection_fails_calls_that_may_have_been_processed(peer):
    call = peer.connection.start_unary(ECHO, b"")
    peer.connection.connection_lost(ConnectionResetError("reset"))
    assert failure(call) == (Code.UNAVAILABLE, False)


async def test_silent_peer_is_given_up_after_a_ping(peer):
    call = peer.connection.start_unary(ECHO, b"")
    peer.send(frames.window_update(0, 1))
    await peer.clock.advance(10)  # something was received
    peer.transport.frames()
    await peer.clock.advance(10)
    assert [kind for kind, *_ in peer.transport.frames()] == [frames.PING]
    await peer.clock.advance(5)
    assert failure(call) == (Code.UNAVAILABLE, False)


async def test_peer_that_answers_the_ping_is_kept(peer):
    call = peer.connection.start_unary(ECHO, b"")
    await peer.clock.advance(10)
    await peer.clock.advance(10)
    peer.send(frame(frames.PING, frames.ACK, 0, bytes(8)))
    await peer.clock.advance(5)
    assert not call.response.done()
    peer.send(peer.response(1, b"late"))
    assert call.response.result() == b"late"


async def test_ping_of_the_peer_is_answered(peer):
    peer.send(frame(frames.PING, 0, 0, b"12345678"))
    assert peer.transport.frames() == [(frames.PING, frames.ACK, 0, b"12345678")]


async def test_stream_limit_of_the_peer_frees_slots_as_calls_end(peer):
    peer.send(frames.settings((frames.SETTING_MAX_STREAMS, 1)))
    call = peer.connection.start_unary(ECHO, b"")
    assert not peer.connection.has_slot
    waiting = asyncio.ensure_future(peer.connection.slot())
    await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop, so that the task waits
    peer.send(peer.response(1))
    await waiting
    assert peer.connection.has_slot
    assert call.response.result() == b""


@pytest.mark.parametrize(
    ("trailers", "code"),
    [
        ([("x", "y")], Code.UNKNOWN),
        ([("grpc-status", "11"), ("grpc-message", "a%20b")], Code.OUT_OF_RANGE),
        ([("grpc-status", "99")], Code.UNKNOWN),
        ([("grpc-status", "x")], Code.UNKNOWN),
    ],
)
async def test_trailers_decide_the_outcome(peer, trailers, code):
    call = peer.connection.start_unary(ECHO, b"")
    peer.send(peer.response(1, b"", *trailers))
    assert failure(call) == (code, False)


@pytest.mark.parametrize("status", ["404", "503", "999"])
async def test_response_of_a_proxy_is_an_error_with_its_status(peer, status):
    call = peer.connection.start_unary(ECHO, b"")
    peer.send(peer.headers(1, (":status", status), flags=frames.END_HEADERS | frames.END_STREAM))
    assert failure(call)[0] in (Code.UNIMPLEMENTED, Code.UNAVAILABLE, Code.UNKNOWN)
    assert status in call.response.exception().details


@pytest.mark.parametrize(
    "body", [b"", b"\0\0\0\0\x02x", b"\x01\0\0\0\x01x", b"\0\0\0\0\x01xy"], ids=["none", "short", "compressed", "two"]
)
async def test_malformed_body_is_an_internal_error(peer, body):
    call = peer.connection.start_unary(ECHO, b"")
    peer.send(
        peer.headers(1, (":status", "200")),
        frame(frames.DATA, 0, 1, body),
        peer.headers(1, ("grpc-status", "0"), flags=frames.END_HEADERS | frames.END_STREAM),
    )
    assert failure(call) == (Code.INTERNAL, False)


@pytest.mark.parametrize(
    "octets",
    [
        frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff\xff\xff\xff\x0f"),
        frame(frames.HEADERS, 0, 1, b"") + frame(frames.DATA, 0, 1, b""),
        frame(frames.CONTINUATION, frames.END_HEADERS, 1, b""),
        frame(frames.PUSH_PROMISE, 0, 1, b""),
        frame(frames.SETTINGS, 0, 0, b"x"),
        frame(frames.WINDOW_UPDATE, 0, 0, b"x"),
        frames.window_update(0, frames.WINDOW_MAX),
        frame(frames.DATA, frames.PADDED, 1, b"\x09x"),
        b"\xff\xff\xff\0\0\0\0\0\x01" + bytes(frames.PAYLOAD_MAX + 1),
    ],
)
async def test_violation_of_the_protocol_ends_the_connection_and_its_calls(peer, octets):
    call = peer.connection.start_unary(ECHO, b"")
    peer.transport.frames()
    peer.send(octets)
    assert failure(call) == (Code.INTERNAL, False)
    assert [kind for kind, *_ in peer.transport.frames()] == [frames.GOAWAY]
    assert peer.transport.is_closed


async def test_frames_of_ended_calls_and_of_unknown_kinds_are_ignored(peer):
    call = peer.connection.start_unary(ECHO, b"")
    peer.connection.cancel(call)
    assert peer.transport.frames()[-1] == (frames.RST_STREAM, 0, 1, (8).to_bytes(4, "big"))
    peer.send(peer.response(1, b"late"), frame(0x42, 0, 1, b"?"), frames.rst_stream(1, 0), frames.window_update(1, 1))
    other = peer.connection.start_unary(ECHO, b"")
    peer.send(peer.response(3, b"fine"))
    assert other.response.result() == b"fine"


async def test_frames_of_one_turn_of_the_loop_are_written_at_once_at_its_end():
    peer = Peer()
    peer.transport.flush()
    for _ in range(3):
        peer.connection.start_unary(ECHO, b"x")
    assert peer.transport.writes == 1
    await peer.clock.advance(0)
    assert peer.transport.writes == 2
    assert [number for kind, _, number, _ in peer.transport.frames() if kind == frames.DATA] == [1, 3, 5]


async def test_frames_of_the_last_turn_are_written_before_the_connection_is_closed():
    peer = Peer()
    peer.transport.flush()
    peer.connection.close()
    assert (peer.transport.is_closed, peer.transport.writes) == (True, 2)
    assert peer.connection.ready.exception() is not None
