"""Encoding and decoding of SPDY frames."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.nodes.kubelet.spdy import (
    DICTIONARY,
    FIN,
    PING,
    RST_STREAM,
    SYN_REPLY,
    SYN_STREAM,
    Control,
    Data,
    Reader,
    SpdyError,
    Writer,
)

HEADERS = {"streamtype": "data", "port": "80", "requestid": "0"}


def test_dictionary_has_the_standard_checksum():
    """Its checksum stands in every compressed block that names it."""
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_frames_round_trip():
    writer = Writer()
    sent = b"".join(
        [
            writer.stream(1, HEADERS),
            writer.reply(1),
            writer.data(1, b"abc"),
            writer.data(1, b"", last=True),
            writer.ping(7),
            writer.reset(3, status=1),
            writer.stream(5, HEADERS, flags=FIN),
        ]
    )
    assert list(Reader().feed(sent)) == [
        Control(SYN_STREAM, 1, 0, HEADERS),
        Control(SYN_REPLY, 1, 0, {}),
        Data(1, 0, b"abc"),
        Data(1, FIN, b""),
        Control(PING, 7, 0),
        Control(RST_STREAM, 3, 0),
        Control(SYN_STREAM, 5, FIN, HEADERS),
    ]


@given(st.lists(st.integers(1, 40), max_size=20))
def test_reader_accepts_bytes_in_any_chunks(cuts):
    writer = Writer()
    sent = writer.stream(1, HEADERS) + writer.data(1, b"abc") + writer.stream(3, HEADERS)
    reader, found, start = Reader(), [], 0
    for size in cuts:
        found += reader.feed(sent[start : start + size])
        start += size
    found += reader.feed(sent[start:])
    assert found == list(Reader().feed(sent))


def test_reader_skips_other_frames():
    settings, window = b"\x80\x03\x00\x04\x00\x00\x00\x04\0\0\0\0", b"\x80\x03\x00\x09\x00\x00\x00\x08\0\0\0\1\0\0\1\0"
    assert list(Reader().feed(settings + window)) == []


@pytest.mark.parametrize(
    "bad",
    [
        b"\x80\x02\x00\x01\x00\x00\x00\x00",
        b"\x80\x03\x00\x01\x00\x00\x00\x02ab",
        b"\x80\x03\x00\x01\x00\x00\x00\x0c" + bytes(10) + b"xx",
        b"\x00\x00\x00\x01\x00\xff\xff\xff",
    ],
    ids=["version", "short", "headers", "long"],
)
def test_reader_rejects_malformed_frames(bad):
    with pytest.raises(SpdyError):
        list(Reader().feed(bad))
