"""Rejections of request heads, as recorded from a server of Go's net/http."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.server.http1.rules import (
    BAD_REQUEST,
    escape_request_line,
    http_version,
    refusal_of_bytes,
    refusal_of_head,
    refusal_of_malformed_head,
    refusal_of_request_line,
    split_target,
)

HOST = (b"host", b"x")


def code_of(headers, *, version="1.1", method=b"GET", target=b"/"):
    refusal = refusal_of_head(method, target, version, headers)
    return None if refusal is None else refusal.code


@pytest.mark.parametrize(
    "host", [b"", b"x", b"x:1", b"127.0.0.1:6443", b"[::1]:6443", b"[fe80::1%25en0]", b"a.b-c_d~", b"!$&'()*+,;="]
)
def test_valid_host_headers_are_accepted(host):
    assert code_of([(b"host", host)]) is None


@pytest.mark.parametrize(
    "host", [b"a b", b"a/b", b"a{", b"a@b", b"a?", b"a#", b"a\\b", b'a"', b"\xc3\xa4", b"a\tb", b"<"]
)
def test_invalid_host_headers_are_400(host):
    assert code_of([(b"host", host)]) == 400


@pytest.mark.parametrize(
    ("version", "method", "code"), [("1.1", b"GET", 400), ("1.0", b"GET", None), ("1.1", b"CONNECT", None)]
)
def test_only_http_1_1_requires_host(version, method, code):
    assert code_of([], version=version, method=method) == code


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_duplicate_hosts_are_400(version):
    assert code_of([HOST, HOST], version=version) == 400


@pytest.mark.parametrize(("version", "code"), [("", 400), ("0.9", 505), ("2.0", 505)])
def test_other_versions_are_505_and_missing_version_is_400(version, code):
    assert code_of([HOST], version=version) == code


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (b"GET / HTTP/1.1", "1.1"),
        (b"GET / HTTP/1.0\r", "1.0"),
        (b"GET / HTTP/0.9", "0.9"),
        (b"GET /", ""),
        (b"DESCRIBE / RTSP/1.0", ""),
        (b"GET /HTTP/1.1", ""),
        (b"GET / HTTP/1.1 ", ""),
    ],
)
def test_http_version_is_end_of_request_line(line, version):
    assert http_version(line) == version


@pytest.mark.parametrize(
    ("version", "codings", "code"),
    [
        ("1.1", [b"chunked"], None),
        ("1.1", [b"Chunked"], None),
        ("1.1", [b"gzip, chunked"], 501),
        ("1.1", [b"identity"], 501),
        ("1.0", [b"chunked"], 400),
    ],
)
def test_transfer_encodings_other_than_chunked_are_rejected(version, codings, code):
    assert code_of([HOST, *((b"transfer-encoding", coding) for coding in codings)], version=version) == code


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"GET / HTTP/1.1\r\n", None),
        (b"GET /\xc3\xa4 HTTP/1.1\r\n", None),
        (b"nonsense\r\n", 400),
        (b"get / HTTP/1.1\r\n", 400),
        (b"GET / HTTP/1.1\n", 400),
        (b"GET / HTTP/3.0\r\n", 505),
    ],
)
def test_refusal_of_request_line_is_that_of_the_whole_head(line, code):
    refusal = refusal_of_request_line(line)
    assert (None if refusal is None else refusal.code) == code


@pytest.mark.parametrize(("value", "code"), [(b"100-continue", None), (b"100-Continue", None), (b"tea", 417)])
def test_unknown_expectations_are_417(value, code):
    assert code_of([HOST, (b"expect", value)]) == code


def test_options_of_server_is_200():
    assert code_of([HOST], method=b"OPTIONS", target=b"*") == 200
    assert code_of([HOST], method=b"OPTIONS", target=b"/") is None


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (b"/", (b"/", b"")),
        (b"/a?b?c", (b"/a", b"b?c")),
        (b"/a#b?c", (b"/a#b", b"c")),
        (b"//a", (b"//a", b"")),
        (b"/%41%c3%A4", (b"/%41%c3%A4", b"")),
        (b"/a?%", (b"/a", b"%")),
        (b"/%", None),
        (b"/%4", None),
        (b"/%4g", None),
        (b"/%zz", None),
        (b"*", (b"*", b"")),
        (b"http://h:1/a?b", (b"/a", b"b")),
        (b"http://h", (b"", b"")),
        (b"ftp://h/a", (b"/a", b"")),
        (b"a", None),
        (b"h:1", None),
        (b"", None),
    ],
)
def test_split_target_returns_path_and_query(target, parts):
    assert split_target(target) == parts


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/3.0\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET / HTTP/1.2\r\n", 400),
        (b"GET / HTTP/2\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: x HTTP/2.0\r\n", 400),
        (b"", 400),
        (b"x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"x\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n", 501),
        (b"x\r\nTransfer-Encoding: Chunked \r\n\r\n", 400),
        (b"x\r\nX-Transfer-Encoding: gzip\r\n\r\n", 400),
        (b"x\r\nTransfer-Encoding:\x0bgzip\r\n\r\n", 400),
    ],
)
def test_refusal_of_bytes_names_version_and_transfer_encoding(data, code):
    assert refusal_of_bytes(data).code == code


def test_malformed_request_line_decides_before_the_headers():
    headers = b"Transfer-Encoding: gzip\r\n\r\n"
    assert refusal_of_malformed_head(b"nonsense\r\n" + headers).code == 400
    assert refusal_of_malformed_head(b"GET / HTTP/1.1\r\na b: c\r\n" + headers).code == 501


def test_refusal_encodes_closing_text_response():
    assert BAD_REQUEST.encode() == (
        b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
        b"content-length: 15\r\n\r\n400 Bad Request"
    )


@given(st.binary(), st.binary())
def test_escape_request_line_changes_only_high_bytes_of_the_first_line(line, rest):
    line = line.replace(b"\n", b"")
    first, end, after = escape_request_line(line + b"\n" + rest).partition(b"\n")
    assert (end, after) == (b"\n", rest)
    assert first.isascii()
    if line.isascii():
        assert first == line
