"""Which requests are refused, as recorded from a server of Go's net/http."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.server.http_rules import (
    BAD_REQUEST,
    escape_request_line,
    refusal_of_bytes,
    refusal_of_head,
    split_target,
)

HOST = (b"host", b"x")


def code_of(headers, *, version="1.1", method=b"GET", target=b"/", data=b""):
    refusal = refusal_of_head(method, target, version, headers, data)
    return None if refusal is None else refusal.code


@pytest.mark.parametrize(
    "host", [b"", b"x", b"x:1", b"127.0.0.1:6443", b"[::1]:6443", b"[fe80::1%25en0]", b"a.b-c_d~", b"!$&'()*+,;="]
)
def test_host_headers_of_valid_bytes_are_accepted(host):
    assert code_of([(b"host", host)]) is None


@pytest.mark.parametrize(
    "host", [b"a b", b"a/b", b"a{", b"a@b", b"a?", b"a#", b"a\\b", b'a"', b"\xc3\xa4", b"a\tb", b"<"]
)
def test_host_headers_with_other_bytes_are_400(host):
    assert code_of([(b"host", host)]) == 400


@pytest.mark.parametrize(
    ("version", "method", "code"), [("1.1", b"GET", 400), ("1.0", b"GET", None), ("1.1", b"CONNECT", None)]
)
def test_only_http_1_1_needs_a_host(version, method, code):
    assert code_of([], version=version, method=method) == code


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_two_hosts_are_400_even_when_they_are_equal(version):
    assert code_of([HOST, HOST], version=version) == 400


@pytest.mark.parametrize(
    ("version", "data", "code"),
    [("0.9", b"GET /\r\n\r\n", 400), ("0.9", b"GET / HTTP/0.9\r\n\r\n", 505), ("2.0", b"", 505)],
)
def test_other_versions_are_505_and_a_line_without_one_is_400(version, data, code):
    assert code_of([HOST], version=version, data=data) == code


@pytest.mark.parametrize(("value", "code"), [(b"100-continue", None), (b"100-Continue", None), (b"tea", 417)])
def test_unknown_expectations_are_417(value, code):
    assert code_of([HOST, (b"expect", value)]) == code


def test_options_of_the_server_is_200():
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
    ("data", "headers", "code"),
    [
        (b"GET / HTTP/3.0\r\n", [], 505),
        (b"PRI * HTTP/2.0\r\n\r\n", [], 505),
        (b"GET / HTTP/1.2\r\n", [], 400),
        (b"GET / HTTP/2\r\n", [], 400),
        (b"GET / HTTP/1.1\r\nA: x HTTP/2.0\r\n", [], 400),
        (b"", [], 400),
        (b"x", [(b"transfer-encoding", b"gzip")], 501),
        (b"x", [(b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"chunked")], 501),
        (b"x", [(b"transfer-encoding", b"Chunked")], 400),
    ],
)
def test_refusal_of_bytes_names_version_and_transfer_encoding(data, headers, code):
    assert refusal_of_bytes(data, headers).code == code


def test_a_refusal_is_a_closing_answer_in_text():
    assert BAD_REQUEST.encode() == (
        b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
        b"content-length: 15\r\n\r\n400 Bad Request"
    )


@given(st.binary(), st.binary())
def test_escape_request_line_changes_only_high_bytes_of_the_first_line(line, rest):
    line = line.replace(b"\n", b"")
    escaped = escape_request_line(line + b"\n" + rest)
    if line.isascii():
        assert escaped is None
    else:
        assert escaped is not None
        first, _, after = escaped.partition(b"\n")
        assert first.isascii()
        assert after == rest


def test_escape_request_line_leaves_an_incomplete_line_alone():
    assert escape_request_line(b"GET /\xc3\xa4") is None
