"""Bytes of responses (whole exchanges are tested over real sockets in ``test_serving``)."""

from __future__ import annotations

import pytest

from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX
from steersman.apiserver.server.http1.response import ResponseWriter

LENGTH = (b"content-length", b"2")


class Transport:
    def __init__(self) -> None:
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.writes.append(data)


def a_writer(*, is_head_request=False, is_http10=False, keep_alive=True) -> tuple[ResponseWriter, list[bytes]]:
    transport = Transport()
    writer = ResponseWriter(
        transport,  # type: ignore[arg-type]  # the method that is called
        is_head_request=is_head_request,
        is_http10=is_http10,
        keep_alive=keep_alive,
    )
    return writer, transport.writes


def respond(writer: ResponseWriter, *headers: tuple[bytes, bytes], code: int = 200, parts: tuple[bytes, ...] = ()):
    writer.begin(code, headers, b"date: now\r\n")
    for part in parts:
        writer.write(part, is_last=False)
    writer.write(b"", is_last=True)


def test_head_is_written_with_the_first_part_of_a_body_of_known_length():
    writer, writes = a_writer()
    respond(writer, LENGTH, parts=(b"h", b"i"))
    assert writes == [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: now\r\n\r\nh", b"i"]
    assert writer.is_complete
    assert writer.keep_alive


def test_large_part_is_not_copied_to_be_one_write_with_the_head():
    writer, writes = a_writer()
    size = WRITE_BYTES_MAX + 1
    respond(writer, (b"content-length", b"%d" % size), parts=(b"x" * size,))
    assert writes[1:] == [b"x" * size]


def test_body_of_unknown_length_is_chunked():
    writer, writes = a_writer()
    respond(writer, parts=(b"hello", b"", b"x" * 16))
    assert writes == [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ndate: now\r\n\r\n",
        b"5\r\nhello\r\n",
        b"10\r\n" + b"x" * 16 + b"\r\n",
        b"0\r\n\r\n",
    ]


@pytest.mark.parametrize("headers", [(LENGTH,), ()])
def test_response_to_head_has_no_body(headers):
    writer, writes = a_writer(is_head_request=True)
    respond(writer, *headers, parts=(b"hi",))
    assert len(writes) == 1
    assert (b"content-length: 2\r\n" in writes[0]) is bool(headers)
    assert b"chunked" not in writes[0]
    assert writes[0].endswith(b"\r\n\r\n")


@pytest.mark.parametrize("code", [204, 304])
@pytest.mark.parametrize("is_http10", [False, True])
def test_status_without_a_body_has_no_length_either(code, is_http10):
    writer, writes = a_writer(is_http10=is_http10)
    respond(writer, (b"content-length", b"0"), code=code, parts=(b"dropped",))
    assert len(writes) == 1
    assert b"content-length" not in writes[0]
    assert writer.keep_alive


@pytest.mark.parametrize(("keep_alive", "headers"), [(False, []), (True, [(b"connection", b"close")])])
def test_response_that_ends_the_connection_has_one_connection_header(keep_alive, headers):
    writer, writes = a_writer(keep_alive=keep_alive)
    respond(writer, (b"content-length", b"0"), *headers)
    assert writes[0].count(b"connection: close") == 1
    assert not writer.keep_alive


def test_http_1_0_body_of_unknown_length_ends_with_the_connection():
    writer, writes = a_writer(is_http10=True)
    respond(writer, parts=(b"hello",))
    assert writes == [b"HTTP/1.0 200 OK\r\nconnection: close\r\ndate: now\r\n\r\n", b"hello"]
    assert not writer.keep_alive


def test_http_1_0_connection_is_kept_if_the_length_is_known():
    writer, writes = a_writer(is_http10=True)
    respond(writer, LENGTH, parts=(b"hi",))
    assert writes == [b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\ndate: now\r\n\r\nhi"]
    assert writer.keep_alive


@pytest.mark.parametrize("value", [b"a\r\nb: c", b"a\nb", b"a\rb", b"a\0b"])
def test_header_with_a_line_break_is_rejected(value):
    writer, writes = a_writer()
    with pytest.raises(RuntimeError, match="end of a line"):
        respond(writer, (b"x", value))
    assert writes == []
    assert not writer.is_started


@pytest.mark.parametrize(("part", "reason"), [(b"h", "shorter"), (b"hey", "longer")])
def test_body_that_differs_from_content_length_is_rejected(part, reason):
    writer, _ = a_writer()
    with pytest.raises(RuntimeError, match=reason):
        respond(writer, LENGTH, parts=(part,))


def test_status_that_is_not_registered_has_no_reason_phrase():
    writer, writes = a_writer()
    respond(writer, (b"content-length", b"0"), code=699)
    assert writes[0].startswith(b"HTTP/1.1 699 \r\n")
