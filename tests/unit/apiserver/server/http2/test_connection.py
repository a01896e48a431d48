"""Connections over an in-memory transport with a fake clock (real sockets and attacks: ``tests/conformance/access``)."""

from __future__ import annotations

import asyncio
import random
from functools import partial

import pytest
from h2.connection import H2Connection
from hyperframe.frame import ContinuationFrame, ExtensionFrame, HeadersFrame, PriorityFrame, SettingsFrame
from tests.unit.apiserver.server.http2.conftest import MAX_STREAMS
from tests.unit.http2_peer import PREFACE

from steersman.apiserver.server.http1.limits import Timeouts
from steersman.apiserver.server.http2 import limits

TIMEOUTS = Timeouts()
NO_LAST_STREAM = 2**31 - 1
PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED, CANCEL, CALM, INADEQUATE = 1, 2, 7, 8, 11, 12
HUGE = 2**30


# Requests and responses


async def test_requests_of_a_connection_are_served_concurrently(client):
    await client.send(client.peer.headers("GET", "/slow"))
    other = await client.get("/")
    assert (other.code, other.body, other.is_ended) == (200, b"0", True)
    assert client.peer.stream(1).code == 0
    client.app.go.set()
    await client.settle()
    assert client.peer.stream(1).code == 200


async def test_request_is_in_the_scope_as_of_http1(client):
    await client.get("/a%20b?c=d", ("accept", "x"))
    (scope,) = client.app.scopes
    assert (scope["method"], scope["path"], scope["raw_path"], scope["query_string"]) == (
        "GET",
        "/a b",
        b"/a%20b",
        b"c=d",
    )
    assert scope["headers"] == [(b"host", b"x"), (b"accept", b"x")]
    assert (scope["http_version"], scope["client"]) == ("2", ("127.0.0.1", 2))
    assert list(scope["extensions"]) == ["steersman.push"]


async def test_response_has_date_and_no_headers_of_a_connection(client):
    received = await client.get("/close")
    assert received.headers == {":status": "200", "date": "now", "content-length": "1", "audit-id": "a"}


async def test_head_and_body_of_several_responses_are_one_write(client):
    before = client.transport.writes
    await client.send(client.peer.headers(), client.peer.headers())
    assert [client.peer.stream(number).body for number in (1, 3)] == [b"0", b"0"]
    assert client.transport.writes == before + 1


@pytest.mark.parametrize(
    ("method", "path", "code"), [("HEAD", "/", 200), ("GET", "/empty", 204), ("HEAD", "/stream", 200)]
)
async def test_response_without_a_body_ends_without_data(client, method, path, code):
    client.app.go.set()
    received = await client.get(path, method=method)
    assert (received.code, received.body, received.is_ended) == (code, b"", True)


async def test_body_is_received_in_frames_and_its_windows_reopen(client):
    number, piece = client.peer.next_number, b"x" * 16384
    await client.send(client.peer.headers("POST", "/", ends=False))
    for _ in range(20):
        await client.send(client.peer.data(number, piece, ends=False))
    await client.send(client.peer.data(number, b"end"))
    assert client.app.requests == [["POST", "/", piece * 20 + b"end", "complete"]]
    assert client.peer.stream(number).window >= 4 * 16384


async def test_window_of_a_body_that_the_application_does_not_take_stays_closed(client):
    client.app.takes_body.clear()
    await client.send(client.peer.headers("POST", "/", ends=False))
    for _ in range(limits.STREAM_WINDOW // 16384):
        await client.send(client.peer.data(1, bytes(16384), ends=False))
    assert client.peer.stream(1).window == 0
    assert client.transport.end is None
    client.app.takes_body.set()
    await client.settle()
    assert client.peer.stream(1).window == limits.STREAM_WINDOW


async def test_body_beyond_the_window_ends_the_connection(client):
    client.app.takes_body.clear()
    await client.send(client.peer.headers("POST", "/", ends=False))
    for _ in range(limits.STREAM_WINDOW // 16384 + 1):
        await client.send(client.peer.data(1, bytes(16384), ends=False))
    assert client.peer.goaways == [(1, 3)]


async def test_response_before_the_end_of_the_body_resets_the_stream_without_an_error(client):
    await client.send(client.peer.headers("POST", "/ignore", ends=False))
    received = client.peer.stream(1)
    assert (received.code, received.is_ended, received.reset) == (200, True, 0)
    await client.send(client.peer.data(1, b"late"))
    assert (await client.get()).code == 200


async def test_client_that_waits_for_100_continue_gets_it_when_the_body_is_wanted(client):
    await client.send(client.peer.headers("POST", "/", ("expect", "100-continue"), ends=False))
    received = client.peer.stream(1)
    assert [block[":status"] for block in received.blocks] == ["100"]
    await client.send(client.peer.data(1, b"body"))
    assert (received.code, received.body) == (200, b"4")
    assert client.peer.goaways == []


async def test_trailers_are_ignored(client):
    trailers = client.peer.headers(block=[("x-checksum", "1")], number=1)
    await client.send(client.peer.headers("POST", "/", ends=False), client.peer.data(1, b"body", ends=False), trailers)
    assert (client.peer.stream(1).code, client.peer.stream(1).body) == (200, b"4")


async def test_malformed_request_ends_its_stream_only(client):
    await client.send(client.peer.headers("GET", "/slow"))
    await client.send(client.peer.headers(block=[(":method", "GET"), ("Upper", "x")]))
    assert client.peer.stream(3).reset == PROTOCOL_ERROR
    assert (await client.get()).code == 200
    client.app.go.set()
    await client.settle()
    assert client.peer.stream(1).code == 200


@pytest.mark.parametrize("ends", [True, False])
async def test_rejected_request_gets_its_response_and_reaches_no_application(client, ends):
    await client.send(client.peer.headers("POST", "/", ("connection", "upgrade"), ("upgrade", "SPDY/3.1"), ends=ends))
    received = client.peer.stream(1)
    assert (received.code, received.body) == (400, b'request header "Connection" is not valid in HTTP/2\n')
    assert received.reset == (None if ends else 0)
    assert client.app.requests == []
    assert (await client.get()).code == 200


async def test_rejection_that_does_not_fit_the_window_resets_the_stream(narrow_client):
    received = await narrow_client.get("/", ("connection", "close"))
    assert (received.code, received.reset) == (400, CANCEL)


async def test_exception_before_the_response_becomes_a_500_and_the_connection_is_kept(client):
    received = await client.get("/fails")
    assert (received.code, received.body) == (500, b"Internal Server Error")
    assert (await client.get()).code == 200


async def test_exception_within_the_response_resets_the_stream(client):
    client.app.go.set()
    received = await client.get("/breaks")
    assert (received.code, received.reset) == (200, INTERNAL_ERROR)
    assert (await client.get()).code == 200


# Flow control of responses


async def test_body_waits_for_the_window_of_its_stream(narrow_client):
    client, number = narrow_client, 1
    await client.send(client.peer.headers("GET", "/large?25"))
    received = client.peer.stream(number)
    assert (received.body, received.is_ended) == (b"x" * 10, False)
    await client.send(client.peer.window_update(number, 10))
    assert len(received.body) == 20
    await client.send(client.peer.window_update(number, 10))
    assert (len(received.body), received.is_ended) == (25, True)
    assert client.clock.waiting <= 1  # idleness


async def test_body_waits_for_the_window_of_the_connection(client):
    await client.send(client.peer.change_settings({4: HUGE}))
    await client.send(client.peer.headers("GET", "/large?100000"))
    received = client.peer.stream(1)
    assert len(received.body) == 65535
    await client.send(client.peer.window_update(0, HUGE))
    assert (len(received.body), received.is_ended) == (100000, True)


async def test_settings_that_enlarge_the_windows_resume_the_body(narrow_client):
    client = narrow_client
    await client.send(client.peer.headers("GET", "/large?25"))
    await client.send(client.peer.change_settings({4: 100}))
    assert client.peer.stream(1).is_ended


async def test_stream_that_is_not_read_does_not_delay_another_one(narrow_client):
    client = narrow_client
    await client.send(client.peer.headers("GET", "/large?25"))
    assert (await client.get()).is_ended


async def test_stream_that_is_not_read_is_reset_after_a_time(narrow_client):
    client = narrow_client
    await client.send(client.peer.headers("GET", "/large?200000"))
    await client.advance(TIMEOUTS.write_stall + 1)
    assert client.peer.stream(1).reset == CANCEL
    assert client.transport.end is None
    assert client.state.tasks == set()


async def test_connection_that_is_not_read_is_aborted_after_a_time(client):
    client.connection.pause_writing()
    await client.send(client.peer.headers("GET", "/stream"))
    assert client.peer.stream(1).blocks == []
    await client.advance(TIMEOUTS.write_stall + 1)
    assert client.transport.end == "aborted"


async def test_responses_continue_when_the_connection_is_read_again(client):
    client.connection.pause_writing()
    await client.send(client.peer.headers("GET", "/"))
    client.connection.resume_writing()
    await client.settle()
    assert client.peer.stream(1).is_ended
    await client.advance(TIMEOUTS.write_stall + 1)
    assert client.transport.end is None


# Pushed pieces of streams


async def test_pushed_piece_is_sent_without_the_task(client):
    await client.send(client.peer.headers("GET", "/stream"))
    push = client.app.scopes[0]["extensions"]["steersman.push"]
    assert push(b" pushed")
    await client.settle()
    assert client.peer.stream(1).body == b"begin pushed"


async def test_piece_is_not_pushed_beyond_the_window_nor_after_the_end(narrow_client):
    client = narrow_client
    await client.send(client.peer.headers("GET", "/stream"))
    push = client.app.scopes[0]["extensions"]["steersman.push"]
    assert not push(b"123456")
    assert push(b"12345")
    assert not push(b"6")
    await client.send(client.peer.reset(1))
    assert not push(b"6")


# The end of streams


async def test_reset_stream_ends_its_request_and_no_other(client):
    await client.send(client.peer.headers("GET", "/gone"), client.peer.headers("GET", "/slow"))
    await client.send(client.peer.reset(1))
    assert [entry[-1] for entry in client.app.requests] == ["gone", "complete"]
    assert len(client.state.tasks) == 1


async def test_reset_stream_ends_the_request_whose_body_is_awaited(client):
    await client.send(client.peer.headers("POST", "/", ends=False))
    await client.send(client.peer.reset(1))
    assert client.app.requests == [["POST", "/", b"", "cut"]]


async def test_stream_that_is_reset_with_its_request_is_over(client):
    await client.send(client.peer.headers("GET", "/"), client.peer.reset(1))
    assert client.peer.stream(1).blocks == []
    assert client.transport.end is None
    assert client.app.requests == []
    assert client.state.tasks == set()


async def test_body_that_is_not_sent_in_time_resets_its_stream_only(client):
    await client.send(client.peer.headers("POST", "/", ends=False))
    other = client.peer.next_number
    await client.send(client.peer.headers("POST", "/", ends=False), client.peer.data(other, b"x"))
    await client.advance(TIMEOUTS.body / 2)
    await client.send(client.peer.data(1, b"x", ends=False))
    await client.advance(TIMEOUTS.body / 2 + 1)
    assert client.peer.stream(1).reset == CANCEL
    assert client.peer.stream(other).code == 200
    assert [entry[-1] for entry in client.app.requests] == ["cut", "complete"]


# Limits


async def test_limits_are_announced(client):
    assert client.peer.settings[3] == MAX_STREAMS
    assert client.peer.settings[4] == limits.STREAM_WINDOW
    assert client.peer.settings[5] == limits.FRAME_BYTES_MAX
    assert client.peer.settings[6] == limits.HEADER_LIST_BYTES_MAX
    assert client.peer.window == MAX_STREAMS * limits.STREAM_WINDOW - 65535


async def test_streams_beyond_the_limit_are_refused_one_by_one(client):
    for _ in range(MAX_STREAMS):
        await client.send(client.peer.headers("GET", "/slow"))
    refused = await client.get()
    assert (refused.reset, refused.blocks) == (REFUSED, [])
    client.app.go.set()
    await client.settle()
    assert (await client.get()).code == 200


async def test_requests_wait_while_those_of_reset_streams_run(client):
    for number in range(1, 2 * MAX_STREAMS, 2):
        await client.send(client.peer.headers("GET", "/slow"))
        await client.send(client.peer.reset(number))
    assert len(client.state.tasks) == MAX_STREAMS
    waiting = await client.get()
    cancelled = client.peer.next_number
    await client.send(client.peer.headers("GET", "/"), client.peer.reset(cancelled))
    assert (len(client.app.requests), waiting.blocks) == (MAX_STREAMS, [])
    client.app.go.set()
    await client.settle()
    assert waiting.code == 200
    assert len(client.app.requests) == MAX_STREAMS + 1


async def test_many_resets_end_the_connection(client):
    for _ in range(limits.RESET_BURST_PER_STREAM * MAX_STREAMS + 1):
        number = client.peer.next_number
        await client.send(client.peer.headers("GET", "/slow"))
        await client.send(client.peer.reset(number))
    assert client.peer.goaways[-1][1] == CALM
    assert len(client.app.requests) <= MAX_STREAMS
    await client.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


async def test_resets_at_a_moderate_rate_are_accepted(client):
    client.app.go.set()
    for _ in range(2 * limits.RESET_BURST_PER_STREAM):
        for _ in range(limits.RESETS_PER_STREAM_SECOND * MAX_STREAMS):
            number = client.peer.next_number
            await client.send(client.peer.headers("GET", "/"), client.peer.reset(number))
        await client.advance(1)
    assert client.peer.goaways == []


FLOODS = {
    "PING": lambda peer: peer.ping(),
    "SETTINGS": lambda peer: peer.change_settings({}),
    "SETTINGS of windows": lambda peer: peer.change_settings({4: random.randrange(100_000)}),
    "PRIORITY": lambda _: PriorityFrame(1, depends_on=3).serialize(),
    "WINDOW_UPDATE": lambda peer: peer.window_update(0, 1),
    "empty DATA": lambda peer: peer.data(1, b"", ends=False),
    "SETTINGS acknowledgements": lambda _: SettingsFrame(0, flags=["ACK"]).serialize(),
    "PING acknowledgements": lambda peer: peer.ping(is_ack=True),
    "RST_STREAM of streams that never were": lambda peer: peer.reset(2),
    "RST_STREAM of closed streams": lambda peer: peer.reset(1),
    "WINDOW_UPDATE of a closed stream": lambda peer: peer.window_update(1, 1),
    "DATA of a closed stream": lambda peer: peer.data(1, b"", ends=False),
    "unknown": lambda _: ExtensionFrame(0xFA, 0, body=b"").serialize(),
}


@pytest.mark.parametrize("name", FLOODS)
async def test_flood_of_frames_ends_the_connection(client, name):
    await client.send(client.peer.headers("POST", "/", ends=False))
    if "closed" in name:
        await client.send(client.peer.reset(1))
    await client.send(FLOODS[name](client.peer) * (limits.CONTROL_FRAMES_BURST - 10))
    assert client.peer.goaways == []
    await client.send(FLOODS[name](client.peer) * 20)
    assert client.peer.goaways == [(1, CALM)]
    assert [entry[-1] for entry in client.app.requests] == ["cut"]
    await client.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


async def test_connection_whose_frames_cannot_be_counted_ends(idle_client, monkeypatch):
    """Another version of h2 might read frames by methods that count none."""
    protocol = idle_client.connection._protocol
    monkeypatch.setattr(protocol, "_receive_frame", partial(H2Connection._receive_frame, protocol))
    await idle_client.send(idle_client.peer.preface(), idle_client.peer.headers("GET", "/"))
    assert idle_client.peer.goaways == [(1, INTERNAL_ERROR)]
    assert idle_client.app.requests == []


async def test_window_updates_of_a_client_that_reads_are_no_flood(client):
    await client.send(client.peer.headers("GET", "/stream"))
    push = client.app.scopes[0]["extensions"]["steersman.push"]
    for _ in range(2 * limits.CONTROL_FRAMES_BURST):
        assert push(b"event")
        client.connection.data_received(client.peer.window_update(0, 5) + client.peer.window_update(1, 5))
    assert client.peer.goaways == []


async def test_flood_of_continuations_ends_the_connection(client):
    first = HeadersFrame(1, data=b"", flags=[]).serialize()
    await client.send(first + ContinuationFrame(1, data=b"").serialize() * 1000)
    assert client.peer.goaways == [(0, PROTOCOL_ERROR)]


async def test_header_block_beyond_the_limit_ends_the_connection_before_it_is_complete(client):
    await client.send(HeadersFrame(1, data=bytes(16384), flags=[]).serialize())
    for _ in range(limits.HEADER_LIST_BYTES_MAX // 16384 - 1):
        await client.send(ContinuationFrame(1, data=bytes(16384)).serialize())
    assert client.peer.goaways == []
    await client.send(ContinuationFrame(1, data=b"x").serialize())
    assert client.peer.goaways == [(0, CALM)]


async def test_header_list_beyond_the_limit_ends_the_connection(client):
    headers = [(f"a{number}", "x" * 1000) for number in range(limits.HEADER_LIST_BYTES_MAX // 1000)]
    await client.send(client.peer.headers("GET", "/", *headers[:10]))
    assert client.peer.stream(1).code == 200
    block = client.peer.encoder.encode([(":method", "GET"), *headers])
    frames = [block[start : start + 16384] for start in range(0, len(block), 16384)]
    parts = [HeadersFrame(3, data=frames[0]), *(ContinuationFrame(3, data=data) for data in frames[1:])]
    parts[-1].flags.add("END_HEADERS")
    await client.send(*(part.serialize() for part in parts))
    assert client.peer.goaways == [(1, CALM)]


async def test_headers_that_decompress_to_many_times_their_size_end_the_connection(client):
    block = client.peer.encoder.encode([("a", "x" * 4000)]) + b"\xbe" * 10_000
    await client.send(HeadersFrame(1, data=block, flags=["END_HEADERS", "END_STREAM"]).serialize())
    assert client.peer.goaways == [(0, CALM)]


async def test_table_of_response_headers_does_not_grow_with_the_settings_of_the_client(client):
    await client.send(client.peer.change_settings({1: HUGE}))
    client.peer.decoder.max_allowed_table_size = HUGE
    await client.get()
    assert client.peer.decoder.header_table_size <= limits.ENCODER_TABLE_BYTES_MAX


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        PREFACE + b"\0\xff\xff\0\0\0\0\0\1" + bytes(70_000),
        PREFACE + b"\0\0\x05\4\0\0\0\0\0abcde",
        PREFACE + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\x05\1\4\0\0\0\1\xff\xff\xff\xff\xff",
    ],
)
async def test_violation_of_the_framing_ends_the_connection(idle_client, raw):
    await idle_client.send(raw)
    assert len(idle_client.peer.goaways) == raw.startswith(PREFACE)
    await idle_client.advance(TIMEOUTS.linger)
    assert idle_client.transport.end == "closed"


@pytest.mark.parametrize("seed", range(30))
async def test_random_frames_end_nothing_but_the_connection(idle_client, seed):
    dice = random.Random(seed)
    client, peer = idle_client, idle_client.peer
    frames = [peer.preface(), peer.headers("GET", "/slow"), peer.headers("POST", "/", ends=False)]
    frames += [peer.data(3, b"x", ends=False), peer.reset(1), peer.ping(), peer.goaway(), peer.window_update(3, 5)]
    frames += [peer.headers("GET", "/stream"), peer.change_settings({4: 0}), peer.window_update(0, HUGE)]
    data = bytearray(b"".join([frames[0], *dice.choices(frames[1:], k=20)]))
    for _ in range(dice.randrange(4)):
        data[dice.randrange(len(frames[0]), len(data))] = dice.randrange(256)
    while data:
        size = dice.randrange(1, 50)
        await client.send(bytes(data[:size]))
        del data[:size]
    assert client.transport.end in (None, "closed")


@pytest.mark.parametrize("tls_cipher", ["AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA256"])
async def test_cipher_that_http2_prohibits_ends_the_connection(idle_client, tls_cipher, monkeypatch):
    class TLS:
        def version(self) -> str:
            return "TLSv1.2"

        def cipher(self) -> tuple[str, str, int]:
            return tls_cipher, "TLSv1.2", 128

        def getpeercert(self, *, binary_form: bool = False) -> None:
            return None

    transport = idle_client.transport
    monkeypatch.setattr(transport, "get_extra_info", lambda name: TLS() if name == "ssl_object" else None)
    idle_client.connection.connection_lost(None)
    other = type(idle_client.connection)(idle_client.state, MAX_STREAMS)
    other.connection_made(transport)
    assert idle_client.peer.goaways[-1] == (0, INADEQUATE)
    other.connection_lost(None)


# The end of connections


async def test_connection_without_settings_is_aborted_in_time(idle_client):
    await idle_client.send(PREFACE[:10])
    await idle_client.advance(TIMEOUTS.head + 1)
    assert idle_client.transport.end == "aborted"


async def test_idle_connection_is_closed_with_goaway_although_it_is_pinged(client):
    await client.get()
    await client.advance(TIMEOUTS.idle / 2)
    await client.send(client.peer.ping())
    assert client.peer.pongs == [b"12345678"]
    await client.advance(TIMEOUTS.idle / 2 + 1)
    assert client.peer.goaways == [(1, 0)]
    await client.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


async def test_connection_with_an_open_stream_is_not_idle(client):
    await client.send(client.peer.headers("GET", "/stream"))
    await client.advance(3 * TIMEOUTS.idle)
    assert client.peer.goaways == []


async def test_shutdown_without_streams_closes_the_connection(client):
    client.connection.shut_down()
    assert client.peer.goaways == [(0, 0)]
    await client.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


async def test_shutdown_serves_requests_that_are_on_their_way_and_refuses_later_ones(client):
    await client.send(client.peer.headers("GET", "/slow"))
    client.connection.shut_down()
    await client.settle()
    assert client.peer.goaways == [(NO_LAST_STREAM, 0)]
    assert (await client.get()).code == 200  # sent before the client learned of the shutdown
    await client.send(client.peer.ping(client.peer.pings[0], is_ack=True))
    assert client.peer.goaways[1:] == [(3, 0)]
    assert (await client.get()).reset == REFUSED
    client.app.go.set()
    await client.settle()
    assert client.peer.stream(1).code == 200
    await client.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


async def test_shutdown_continues_without_an_acknowledgement(client):
    await client.send(client.peer.headers("GET", "/slow"))
    client.connection.shut_down()
    await client.advance(limits.GOAWAY_SECONDS)
    assert client.peer.goaways == [(NO_LAST_STREAM, 0), (1, 0)]


async def test_response_with_connection_close_ends_the_connection_after_the_open_streams(client):
    await client.send(client.peer.headers("GET", "/slow"))
    assert (await client.get("/close")).code == 200
    assert client.peer.goaways == [(NO_LAST_STREAM, 0)]
    client.app.go.set()
    await client.advance(limits.GOAWAY_SECONDS)
    await client.advance(TIMEOUTS.linger)
    assert client.peer.stream(1).code == 200
    assert client.transport.end == "closed"


async def test_client_that_sends_goaway_gets_its_responses(client):
    await client.send(client.peer.headers("GET", "/slow"), client.peer.goaway(), client.peer.window_update(0, 1))
    client.app.go.set()
    await client.settle()
    assert client.peer.stream(1).code == 200
    await client.advance(TIMEOUTS.linger)
    assert client.transport.end == "closed"


async def test_connection_that_begins_during_a_shutdown_is_closed():
    from tests.unit.apiserver.server.http2.conftest import Client, ended

    client = Client()
    client.state.is_draining = True
    await client.connect()
    assert client.peer.goaways == [(0, 0)]
    await ended(client)


async def test_lost_connection_ends_all_requests(client):
    await client.send(client.peer.headers("GET", "/gone"), client.peer.headers("POST", "/", ends=False))
    waiting = asyncio.ensure_future(client.connection.closed())
    await client.settle()
    client.lose()
    await client.settle()
    assert [entry[-1] for entry in client.app.requests] == ["gone", "cut"]
    assert waiting.done()
    client.transport.end = None


async def test_unsent_responses_are_reported(narrow_client):
    assert not narrow_client.connection.has_unsent
    await narrow_client.send(narrow_client.peer.headers("GET", "/large?25"))
    assert narrow_client.connection.has_unsent
