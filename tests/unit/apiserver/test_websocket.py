"""WebSockets: handshake, frames, streams as messages."""

import base64

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.http import Request
from steersman.apiserver.websocket import (
    BINARY,
    TEXT,
    _binary_of_frames,
    accept_key,
    bytes_over_websocket,
    close_frame,
    frame,
    is_websocket,
    offered_protocols,
    watch_over_websocket,
)

TOKEN = b"base64url.bearer.authorization.k8s.io.eA"


def request(*protocols: bytes, **replaced: bytes) -> Request:
    headers = {
        b"connection": b"keep-alive, Upgrade",
        b"upgrade": b"websocket",
        b"sec-websocket-key": b"dGhlIHNhbXBsZSBub25jZQ==",
        b"sec-websocket-version": b"13",
        **{name.replace("_", "-").encode(): value for name, value in replaced.items()},
    }
    if protocols:
        headers[b"sec-websocket-protocol"] = b", ".join(protocols)
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": list(headers.items())}
    return Request({**scope, "extensions": {"steersman.upgrade": None}}, receive=None)


async def stream(*pieces):
    for piece in pieces:
        yield piece


async def messages(response):
    return [message async for message in response.stream]


def header(response, name):
    return dict(response.headers).get(name)


def test_accept_key_matches_rfc_6455():
    assert accept_key("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x81\x00"),
        (125, b"\x81\x7d"),
        (126, b"\x81\x7e\x00\x7e"),
        (1 << 16, b"\x81\x7f" + (1 << 16).to_bytes(8, "big")),
    ],
)
def test_frame_has_shortest_length_encoding(size, head):
    assert frame(TEXT, b"x" * size) == head + b"x" * size


def test_close_frame_has_a_code():
    assert close_frame() == b"\x88\x02\x03\xe8"


def test_is_websocket_requires_both_headers():
    assert is_websocket(request())
    assert not is_websocket(request(upgrade=b"spdy/3.1"))
    assert not is_websocket(request(connection=b"close"))


def test_offered_protocols_omit_tokens():
    assert offered_protocols(request(TOKEN, b"binary.k8s.io")) == ["binary.k8s.io"]


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ((), None),
        ((b"binary.k8s.io",), b"binary.k8s.io"),
        ((b"base64.binary.k8s.io", TOKEN), b"base64.binary.k8s.io"),
        ((b"other",), b"other"),
        ((b"other", b"binary.k8s.io"), b"binary.k8s.io"),
    ],
)
async def test_watch_sends_each_event_as_text(offered, chosen):
    response = watch_over_websocket(request(*offered), stream(b'{"a":1}\n{"b":2}\n', b"", b'{"c":3}\n'))
    assert (response.code, header(response, b"sec-websocket-protocol")) == (101, chosen)
    assert header(response, b"sec-websocket-accept") == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    events = [frame(TEXT, b'{"a":1}\n') + frame(TEXT, b'{"b":2}\n'), frame(TEXT, b'{"c":3}\n')]
    assert await messages(response) == events


@pytest.mark.parametrize(
    ("offered", "opcode", "encode"),
    [
        ((), BINARY, bytes),
        ((b"binary.k8s.io",), BINARY, bytes),
        ((b"other", b"base64.binary.k8s.io"), TEXT, base64.b64encode),
    ],
)
async def test_bytes_follow_an_empty_message(offered, opcode, encode):
    response = bytes_over_websocket(request(*offered), stream(b"line\n"))
    assert await messages(response) == [frame(opcode, b""), frame(opcode, encode(b"line\n"))]


@pytest.mark.parametrize(
    ("refused", "code"),
    [
        (request(b"other"), 403),
        (request(sec_websocket_version=b"8"), 400),
        (request(sec_websocket_key=b""), 400),
    ],
)
def test_invalid_handshake_raises(refused, code):
    with pytest.raises(StatusError) as caught:
        bytes_over_websocket(refused, stream())
    assert caught.value.code == code


def test_watch_raises_for_unsupported_protocols():
    with pytest.raises(StatusError, match="not supported"):
        watch_over_websocket(request(b"one", b"other"), stream())


async def test_messages_close_their_stream():
    ended = []

    async def endless():
        try:
            yield b"{}\n"
            yield b"{}\n"
        finally:
            ended.append(True)

    response = watch_over_websocket(request(), endless())
    await anext(response.stream)
    await response.stream.aclose()
    assert ended == [True]


def test_binary_of_frames_sends_each_event_of_a_piece_as_a_message():
    piece = b"".join(len(event).to_bytes(4, "big") + event for event in (b"one", b"", b"three"))
    assert _binary_of_frames(piece) == frame(BINARY, b"one") + frame(BINARY, b"") + frame(BINARY, b"three")
