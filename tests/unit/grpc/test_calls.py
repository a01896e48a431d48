from __future__ import annotations

import pytest

from steersman.grpc.calls import StreamCall, UnaryCall, framed
from steersman.grpc.errors import Code, RpcError

OK = {"grpc-status": "0"}


class Stream:
    """A stream whose credits and sent messages are recorded."""

    def __init__(self):
        self.sent, self.credited, self.cancelled = [], [], []
        self.call = StreamCall(lambda _, body: self.sent.append(body), self.cancelled.append)
        self.call.credit = lambda _, size: self.credited.append(size)


def test_framed_message_has_its_length():
    assert framed(b"abc") == b"\0\0\0\0\x03abc"


async def test_unary_response_is_joined_from_its_parts():
    call, body = UnaryCall(), framed(b"hello")
    assert sum(call.on_data(part) for part in (body[:3], body[3:6], body[6:])) == len(body)
    call.on_headers(OK, is_last=True)
    assert call.response.result() == b"hello"


@pytest.mark.parametrize("step", [1, 3, 7, 100])
async def test_stream_messages_may_be_divided_anywhere_and_are_credited_once(step):
    stream, messages = Stream(), [b"", b"abc", b"x" * 20, b"y"]
    body = b"".join(map(framed, messages))
    consumed = sum(stream.call.on_data(body[at : at + step]) for at in range(0, len(body), step))
    assert [await stream.call.read() for _ in messages] == messages
    assert consumed + sum(stream.credited) == len(body)


async def test_stream_error_follows_the_messages_before_it():
    stream = Stream()
    stream.call.on_data(framed(b"a"))
    stream.call.on_headers({"grpc-status": "14", "grpc-message": "gone"}, is_last=True)
    assert await stream.call.read() == b"a"
    with pytest.raises(RpcError, match="gone"):
        await stream.call.read()


async def test_compressed_message_is_an_error():
    with pytest.raises(RpcError) as raised:
        Stream().call.on_data(b"\x01\0\0\0\0")
    assert raised.value.code is Code.INTERNAL


async def test_ended_stream_sends_and_cancels_nothing():
    stream = Stream()
    stream.call.on_headers(OK, is_last=True)
    stream.call.send(b"late")
    stream.call.cancel()
    assert await stream.call.read() is None
    assert stream.sent == stream.cancelled == []
