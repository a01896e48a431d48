"""Encoding and decoding of SPDY frames."""

import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.nodes.kubelet.spdy import (
    DICTIONARY,
    FIN,
    GOAWAY,
    HEADERS,
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

PORT_HEADERS = {"streamtype": "data", "port": "80", "requestid": "0"}


def test_dictionary_has_the_standard_checksum():
    """Its checksum stands in every compressed block that names it."""
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_frames_round_trip():
    writer = Writer()
    sent = b"".join(
        [
            writer.stream(1, PORT_HEADERS),
            writer.reply(1),
            writer.data(1, b"abc"),
            writer.data(1, b"", last=True),
            writer.ping(7),
            writer.reset(3, status=1),
            writer.stream(5, PORT_HEADERS, flags=FIN),
        ]
    )
    assert list(Reader().feed(sent)) == [
        Control(SYN_STREAM, 1, 0, PORT_HEADERS),
        Control(SYN_REPLY, 1, 0, {}),
        Data(1, 0, b"abc"),
        Data(1, FIN, b""),
        Control(PING, 7, 0),
        Control(RST_STREAM, 3, 0, status=1),
        Control(SYN_STREAM, 5, FIN, PORT_HEADERS),
    ]


FRAMES = st.lists(
    st.one_of(
        st.builds(
            lambda stream, headers, flags: ("stream", stream, headers, flags),
            st.integers(1, 2**31 - 1),
            st.dictionaries(st.text(st.characters(codec="utf-8", categories=["Ll", "Nd"])), st.text(max_size=200)),
            st.sampled_from([0, FIN]),
        ),
        st.builds(lambda stream: ("reply", stream), st.integers(1, 2**31 - 1)),
        st.builds(
            lambda stream, data, last: ("data", stream, data, last),
            st.integers(1, 2**31 - 1),
            st.binary(max_size=300),
            st.booleans(),
        ),
        st.builds(lambda number: ("ping", number), st.integers(1, 2**32 - 1)),
        st.builds(lambda stream, status: ("reset", stream, status), st.integers(1, 2**31 - 1), st.integers(1, 11)),
        st.builds(lambda stream: ("goaway", stream), st.integers(0, 2**31 - 1)),
    ),
    max_size=8,
)


def encode(writer, frame):
    match frame:
        case ("stream", stream, headers, flags):
            return writer.stream(stream, headers, flags=flags)
        case ("reply", stream):
            return writer.reply(stream)
        case ("data", stream, data, last):
            return writer.data(stream, data, last=last)
        case ("ping", number):
            return writer.ping(number)
        case ("reset", stream, status):
            return writer.reset(stream, status=status)
        case ("goaway", stream):
            return writer.goaway(stream)


def expected(frame):
    match frame:
        case ("stream", stream, headers, flags):
            return Control(SYN_STREAM, stream, flags, headers)
        case ("reply", stream):
            return Control(SYN_REPLY, stream, 0)
        case ("data", stream, data, last):
            return Data(stream, FIN if last else 0, data)
        case ("ping", number):
            return Control(PING, number, 0)
        case ("reset", stream, status):
            return Control(RST_STREAM, stream, 0, status=status)
        case ("goaway", stream):
            return Control(GOAWAY, stream, 0)


def joined(frames):
    """Join the parts of data frames: those of a stream up to the one with flags, or to another frame."""
    whole = []
    for frame in frames:
        last = whole[-1] if whole else None
        if isinstance(frame, Data) and isinstance(last, Data) and last.stream == frame.stream and not last.flags:
            whole[-1] = Data(frame.stream, frame.flags, last.data + frame.data)
        else:
            whole.append(frame)
    return whole


@given(FRAMES, st.lists(st.integers(1, 200), max_size=30))
def test_any_frames_round_trip_in_any_chunks(frames, cuts):
    writer, reader, result, start = Writer(), Reader(), [], 0
    sent = b"".join(encode(writer, frame) for frame in frames)
    for size in cuts:
        result += reader.feed(sent[start : start + size])
        start += size
    result += reader.feed(sent[start:])
    assert joined(result) == joined([expected(frame) for frame in frames])


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_reader_raises_nothing_but_spdy_errors(chunks):
    reader = Reader()
    try:
        for chunk in chunks:
            list(reader.feed(chunk))
    except SpdyError:
        return
    assert len(reader._buffer) <= sum(map(len, chunks))


@given(st.sampled_from([SYN_STREAM, SYN_REPLY, HEADERS]), st.binary(max_size=200))
def test_reader_rejects_or_decodes_any_header_block(kind, block):
    body = b"\0\0\0\1" + bytes(6 if kind == SYN_STREAM else 0) + zlib_block(block)
    try:
        (frame,) = Reader().feed(frame_of(kind, body))
    except SpdyError:
        return
    assert frame.type == kind


def frame_of(kind, body):
    return struct.pack("!HHI", 0x8003, kind, len(body)) + body


def zlib_block(text):
    compressor = zlib.compressobj(zdict=DICTIONARY)
    return compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)


def headers_block(*words, number=None):
    text = b"".join(struct.pack("!I", len(word)) + word for word in words)
    return zlib_block(struct.pack("!I", len(words) // 2 if number is None else number) + text)


def test_headers_frames_keep_the_compression_in_step():
    compressor = zlib.compressobj(zdict=DICTIONARY)

    def block(word):
        text = struct.pack("!II", 1, len(word)) + word + struct.pack("!I", 1) + b"v"
        return compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)

    sent = frame_of(HEADERS, b"\0\0\0\1" + block(b"first")) + frame_of(SYN_REPLY, b"\0\0\0\1" + block(b"second"))
    assert [frame.headers for frame in Reader().feed(sent)] == [{"first": "v"}, {"second": "v"}]


@pytest.mark.parametrize(
    "block",
    [
        headers_block(b"a", b"x" * (1 << 20)),
        headers_block(b"a", b"b", number=1001),
        headers_block(b"a", b"b", number=0),
        headers_block(b"a", b"b", number=2),
        headers_block(b"a", b"b", b"a", b"c"),
        headers_block(b"a", b"\xff"),
        zlib.compress(b"\0\0\0\0"),
    ],
    ids=["bomb", "many", "surplus", "missing", "duplicate", "encoding", "dictionary"],
)
def test_reader_rejects_malformed_headers(block):
    with pytest.raises(SpdyError):
        list(Reader().feed(frame_of(SYN_REPLY, b"\0\0\0\1" + block)))


def test_bomb_of_headers_is_not_expanded_beyond_the_bound():
    """A megabyte of zeros fits into a kilobyte."""
    block = headers_block(b"a", bytes(50 << 20))
    assert len(block) < 1 << 16
    tracemalloc.start()
    with pytest.raises(SpdyError, match="too long"):
        list(Reader().feed(frame_of(SYN_REPLY, b"\0\0\0\1" + block)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_reader_does_not_buffer_data_frames():
    reader = Reader()
    assert list(reader.feed(struct.pack("!II", 1, FIN << 24 | 0xFFFFFF))) == []
    sizes = [len(part.data) for _ in range(255) for part in reader.feed(bytes(65536))]
    assert sizes == [65536] * 255
    assert list(reader.feed(bytes(65535))) == [Data(1, FIN, bytes(65535))]


def test_reader_skips_other_frames():
    settings, window = b"\x80\x03\x00\x04\x00\x00\x00\x04\0\0\0\0", b"\x80\x03\x00\x09\x00\x00\x00\x08\0\0\0\1\0\0\1\0"
    assert list(Reader().feed(settings + window)) == []


@pytest.mark.parametrize(
    "bad",
    [
        b"\x80\x02\x00\x01\x00\x00\x00\x00",
        b"\x80\x03\x00\x01\x00\x00\x00\x02ab",
        b"\x80\x03\x00\x01\x00\x00\x00\x0c" + bytes(10) + b"xx",
        b"\x80\x03\x00\x01\x00\xff\xff\xff",
        b"\x00\x00\x00\x00\x00\x00\x00\x01x",
        b"\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x00",
    ],
    ids=["version", "short", "headers", "long", "data of stream 0", "ping 0"],
)
def test_reader_rejects_malformed_frames(bad):
    with pytest.raises(SpdyError):
        list(Reader().feed(bad))
