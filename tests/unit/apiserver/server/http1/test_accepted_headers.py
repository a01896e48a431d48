"""Heads that repeat accepted headers. ``test_connection`` compares them with heads that are parsed."""

import pytest

from steersman.apiserver.server.http1.accepted_headers import AcceptedHeaders, accepted_headers
from steersman.apiserver.server.http1.limits import HEAD_BYTES_MAX, REPEATED_HEADERS_BYTES_MAX

TEXT = b"\r\nHost: x\r\nA: 1\r\n\r\n"
HEADERS = [(b"host", b"x"), (b"a", b"1")]


def accepted(text: bytes = TEXT) -> AcceptedHeaders:
    headers = accepted_headers(b"POST /other HTTP/1.1" + text, HEADERS, 3)
    assert headers is not None
    return headers


def test_head_with_the_same_headers_matches_wherever_it_begins():
    line = b"PUT /a/b~1?c=%2F&d= HTTP/1.1"
    data = b"rest" + line + TEXT + b"abcGET /"
    assert accepted().match(data, 4) == (4 + len(line + TEXT), b"PUT", b"/a/b~1", b"c=%2F&d=")
    assert (accepted().headers, accepted().body_bytes) == (HEADERS, 3)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1" + TEXT[:-1],
        b"GET / HTTP/1.1" + TEXT.replace(b"A: 1", b"A: 2"),
        b"GET / HTTP/1.1" + TEXT.replace(b"A: 1", b"A: 1\r\nB: 2"),
        b"GET / HTTP/1.1" + TEXT.replace(b"\r\nA: 1", b""),
        b"GET / HTTP/1.1\r" + TEXT,
        b"GET / HTTP/1.0" + TEXT,
        b"get / HTTP/1.1" + TEXT,
        b"OPTIONS / HTTP/1.1" + TEXT,
        b"GET /%41 HTTP/1.1" + TEXT,
        b"GET /a#b HTTP/1.1" + TEXT,
        b"GET http://x/ HTTP/1.1" + TEXT,
        b"GET /" + b"a" * HEAD_BYTES_MAX + b" HTTP/1.1" + TEXT,
        b"GET / HTTP/1.1",
        b"",
    ],
)
def test_other_head_is_parsed(head):
    assert accepted().match(head, 0) is None


def test_long_headers_are_not_kept():
    text = b"\r\nA: " + b"a" * (REPEATED_HEADERS_BYTES_MAX - 9) + b"\r\n\r\n"
    assert accepted(text)
    assert accepted_headers(b"GET / HTTP/1.1" + text.replace(b"A", b"AA"), HEADERS, 0) is None
