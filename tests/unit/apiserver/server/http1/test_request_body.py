"""Buffer of bodies, and the end of chunked messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.server.http1.limits import CHUNK_OVERHEAD_MAX
from steersman.apiserver.server.http1.request_body import ChunkedFraming, RequestBody, body_headers


@given(st.lists(st.binary()))
def test_take_returns_and_clears_the_added_bytes(parts):
    body = RequestBody()
    for part in parts:
        body.add(part)
    assert body.size == sum(map(len, parts))
    assert body.take() == b"".join(parts)
    assert (body.size, body.take()) == (0, b"")


@pytest.mark.parametrize(
    ("data", "start", "end"),
    [
        (b"0\r\n\r\nGET", 0, 5),
        (b"0\r\nA: b\r\n\r\nGET", 0, 11),
        (b"xx0\r\n\r\nGET", 2, 7),
        (b"\r\nGET", 0, 2),
        (b"\nGET", 0, 1),
        (b"3\r\nabc\r\n", 0, 8),
        (b"abc", 0, 3),
    ],
)
def test_next_end_is_after_the_first_empty_line(data, start, end):
    assert ChunkedFraming().next_end(data, start) == end


@given(st.integers(0, 9), st.data())
def test_next_end_stops_at_the_end_of_the_message_however_it_is_cut(at, data):
    message, rest = b"3\r\na\nb\r\n0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"
    cut = data.draw(st.integers(1, len(message)))
    framing = ChunkedFraming()
    position = 0
    for part in (message[:cut], message[cut:] + rest):
        start = 0
        while start < len(part) and position < len(message):
            end = framing.next_end(part, start)
            position += end - start
            start = end
    assert position == len(message)


def test_overhead_of_chunks_is_bounded_beside_their_data():
    framing = ChunkedFraming()
    for _ in range(1000):
        framing.next_end(b"1\r\nx\r\n", 0)
        framing.add_chunk()
        framing.add_data(1)
    assert not framing.has_excess
    framing.next_end(b"1;" + b"x" * (CHUNK_OVERHEAD_MAX + 16_000), 0)
    assert framing.has_excess


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], (None, False)),
        ([(b"content-length", b"5 ")], (5, False)),
        ([(b"expect", b"100-continue"), (b"content-length", b"0")], (0, True)),
    ],
)
def test_body_headers_returns_length_and_expectation(headers, expected):
    assert body_headers(headers) == expected
