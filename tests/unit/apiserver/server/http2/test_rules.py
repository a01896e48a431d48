"""Validation of request heads."""

import pytest

from steersman.apiserver.server.http1.limits import HEADERS_MAX
from steersman.apiserver.server.http1.rules import Refusal
from steersman.apiserver.server.http2.rules import is_adequate, request_head

GET = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"x"), (b":path", b"/api?a=b")]


def with_path(path: bytes) -> list[tuple[bytes, bytes]]:
    return [*GET[:3], (b":path", path)]


def test_request_head_has_target_and_headers():
    head = request_head([*GET, (b"accept", b"a"), (b"accept", b"b")])
    assert head == ("GET", b"/api", b"a=b", [(b"host", b"x"), (b"accept", b"a"), (b"accept", b"b")], False)


def test_authority_takes_precedence_over_host():
    assert request_head([*GET, (b"host", b"other")])[3] == [(b"host", b"x")]
    assert request_head([*GET[:2], GET[3], (b"host", b"other")])[3] == [(b"host", b"other")]
    assert request_head([*GET[:2], GET[3]])[3] == []


def test_request_head_expects_100():
    assert request_head([*GET, (b"expect", b"100-Continue")])[4]


def test_path_with_raw_utf8_is_escaped_as_by_http1():
    assert request_head(with_path("/ä".encode()))[1] == b"/%C3%A4"


@pytest.mark.parametrize(
    "block",
    [
        [],
        GET[1:],
        GET[:3],
        [GET[0], *GET[2:]],
        [*GET, GET[0]],
        [*GET, (b"accept", b"x"), (b":authority", b"x")],
        [(b"accept", b"x"), *GET],
        [*GET, (b":protocol", b"websocket")],
        [GET[0], (b":scheme", b"ftp"), *GET[2:]],
        [(b":method", b"G T"), *GET[1:]],
        [*GET, (b"Accept", b"x")],
        [*GET, (b"", b"x")],
        [*GET, (b"a b", b"x")],
        [*GET, (b"accept", b"a\r\nb: c")],
        [*GET, (b"accept", b"a\0")],
        [*GET, (b"accept", b"\x7f")],
        with_path(b""),
        with_path(b"api"),
        with_path(b"/a b"),
        with_path(b"/a\r\n"),
        with_path(b"/%zz"),
        [(b":method", b"CONNECT"), (b":path", b"/"), (b":authority", b"x:1")],
        [(b":method", b"CONNECT")],
    ],
)
def test_malformed_head_is_none(block):
    assert request_head(block) is None


@pytest.mark.parametrize(
    ("block", "code", "content"),
    [
        ([*GET, (b"connection", b"close")], 400, b'request header "Connection" is not valid in HTTP/2\n'),
        ([*GET, (b"upgrade", b"websocket")], 400, b'request header "Upgrade" is not valid in HTTP/2\n'),
        (
            [*GET, (b"transfer-encoding", b"chunked")],
            400,
            b'request header "Transfer-Encoding" is not valid in HTTP/2\n',
        ),
        ([*GET, (b"te", b"gzip")], 400, b'request header "TE" may only be "trailers" in HTTP/2\n'),
        ([*GET[:2], (b":authority", b"x y"), GET[3]], 400, b"400 Bad Request: malformed Host header"),
        ([*GET[:2], GET[3], (b"host", b"x/y")], 400, b"400 Bad Request: malformed Host header"),
        ([(b":method", b"CONNECT"), (b":authority", b"x:1")], 400, b"CONNECT is not supported\n"),
        ([*GET, *[(b"a", b"b")] * (HEADERS_MAX + 1)], 431, b"431 Request Header Fields Too Large"),
        ([(b":method", b"OPTIONS"), *GET[1:3], (b":path", b"*")], 200, b""),
    ],
)
def test_rejected_head_has_the_response_of_upstream(block, code, content):
    refusal = request_head(block)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.content) == (code, content)


def test_te_trailers_is_accepted():
    assert not isinstance(request_head([*GET, (b"te", b"trailers")]), Refusal | None)


class TLS:
    def __init__(self, version, cipher):
        self._version, self._cipher = version, cipher

    def version(self):
        return self._version

    def cipher(self):
        return (self._cipher, self._version, 128)


@pytest.mark.parametrize(
    ("version", "cipher", "adequate"),
    [
        ("TLSv1.3", "TLS_AES_128_GCM_SHA256", True),
        ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256", True),
        ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305", True),
        ("TLSv1.2", "ECDHE-RSA-AES128-SHA256", False),
        ("TLSv1.2", "AES128-GCM-SHA256", False),
    ],
)
def test_cipher_is_adequate_with_ephemeral_keys_and_aead(version, cipher, adequate):
    assert is_adequate(TLS(version, cipher)) is adequate


def test_connection_without_tls_is_adequate():
    assert is_adequate(None)
