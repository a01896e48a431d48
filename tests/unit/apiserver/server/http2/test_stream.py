"""Flow control, framing and timers of one stream (whole exchanges: ``test_connection``)."""

import asyncio

import pytest
from h2.errors import ErrorCodes

from steersman.apiserver.server.http2.stream import StreamFlow, StreamPush, StreamResponse

#: Frames are recorded in place of those of h2.
pytestmark = pytest.mark.interpreted

DATE = b"date: now\r\n"


class Frames:
    """Outgoing frames with a window, which records what is sent."""

    def __init__(self, window: int = 1000) -> None:
        self.open = window
        self.sent: list[tuple] = []

    def head(self, number, headers, *, ends):
        self.sent.append(("head", dict(headers)[b":status"], ends))

    def data(self, number, part, *, ends):
        size = min(len(part), self.open)
        self.open -= size
        self.sent.append(("data", part[:size], ends and size == len(part)))
        return size

    def window(self, number):
        return self.open

    def acknowledge(self, number, size):
        self.sent.append(("acknowledge", size))


class Parts:
    """A response over frames with a window, and calls of its callbacks."""

    def __init__(self, window: int = 1000, *, is_head_request: bool = False) -> None:
        self.frames = Frames(window)
        self.flow = StreamFlow(None, self.frames, 1, is_paused=False)
        self.stalls: list[bool] = []
        self.ends: list[ErrorCodes | None] = []
        self.response = StreamResponse(
            self.frames,
            1,
            self.flow,
            is_head_request=is_head_request,
            stall=self.stalls.append,
            on_end=lambda _, code: self.ends.append(code),
        )


def test_head_and_body_of_known_length_are_sent_together():
    parts = Parts()
    parts.response.begin(200, [(b"content-length", b"2")], DATE)
    assert parts.frames.sent == []
    parts.response.write(b"ok", is_last=True)
    assert parts.frames.sent == [("head", b"200", False), ("data", b"ok", True)]
    assert parts.ends == [None]


def test_head_of_a_stream_is_sent_at_once_and_its_end_later():
    parts = Parts()
    parts.response.begin(200, [], DATE)
    assert parts.frames.sent == [("head", b"200", False)]
    parts.response.write(b"", is_last=True)
    assert parts.frames.sent[1:] == [("data", b"", True)]


def test_empty_body_ends_with_the_head():
    parts = Parts()
    parts.response.begin(200, [(b"content-length", b"0")], DATE)
    parts.response.write(b"", is_last=True)
    assert parts.frames.sent == [("head", b"200", True)]


@pytest.mark.parametrize(("part", "is_last"), [(b"abc", False), (b"a", True)])
def test_body_that_differs_from_its_length_raises(part, is_last):
    parts = Parts()
    parts.response.begin(200, [(b"content-length", b"2")], DATE)
    with pytest.raises(RuntimeError):
        parts.response.write(part, is_last=is_last)


@pytest.mark.parametrize("header", [(b"a", b"b\r\nc"), (b"a\n", b"b"), (b"a", b"\0")])
def test_header_with_the_end_of_a_line_raises(header):
    with pytest.raises(RuntimeError):
        Parts().response.begin(200, [header], DATE)


def test_rest_of_a_body_waits_for_the_window_and_pauses_the_writer():
    parts = Parts(window=3)
    parts.response.begin(200, [], DATE)
    parts.response.write(b"abcdef", is_last=True)
    assert (parts.flow.write_paused, parts.stalls, parts.ends) == (True, [True], [])
    parts.frames.open = 2
    parts.response.resume()
    assert (parts.flow.write_paused, parts.ends) == (True, [])
    parts.frames.open = 9
    parts.response.resume()
    assert (parts.flow.write_paused, parts.stalls, parts.ends) == (False, [True, False], [None])
    assert [sent[1:] for sent in parts.frames.sent[1:]] == [(b"abc", False), (b"de", False), (b"f", True)]


def test_writer_waits_for_window_and_transport():
    parts = Parts(window=1)
    parts.flow.pause_writing()
    parts.response.begin(200, [], DATE)
    parts.response.write(b"ab", is_last=False)
    parts.flow.resume_writing()
    assert parts.flow.write_paused
    parts.frames.open = 1
    parts.response.resume()
    assert not parts.flow.write_paused


async def test_writer_wakes_when_the_stream_ends():
    parts = Parts(window=1)
    parts.response.begin(200, [], DATE)
    parts.response.write(b"ab", is_last=False)
    waiting = asyncio.ensure_future(parts.flow.drain())
    await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop
    parts.response.close()
    await waiting
    parts.response.write(b"dropped", is_last=True)
    assert len(parts.frames.sent) == 2


def test_response_that_is_cut_resets_the_stream_once():
    parts = Parts()
    parts.response.cut()
    parts.response.cut()
    assert parts.ends == [ErrorCodes.INTERNAL_ERROR]


def test_received_bytes_are_acknowledged_when_the_application_takes_them():
    parts = Parts()
    parts.flow.add_received(3)
    parts.flow.add_received(4)
    parts.flow.pause_reading()
    parts.flow.resume_reading()
    parts.flow.resume_reading()
    assert parts.frames.sent == [("acknowledge", 7)]


def test_push_needs_an_open_stream_of_unknown_length_and_its_window():
    parts = Parts(window=5)
    push = StreamPush(parts.response, parts.flow)
    assert not push(b"a")
    parts.response.begin(200, [], DATE)
    assert not push(b"")
    assert not push(b"abcdef")
    assert push(b"abcde")
    assert not push(b"f")
    assert not push.is_paused
    of_known_length = Parts()
    of_known_length.response.begin(200, [(b"content-length", b"2")], DATE)
    assert not StreamPush(of_known_length.response, of_known_length.flow)(b"a")
    of_head = Parts(is_head_request=True)
    of_head.response.begin(200, [], DATE)
    assert not StreamPush(of_head.response, of_head.flow)(b"a")
