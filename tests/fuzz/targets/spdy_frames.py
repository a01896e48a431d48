"""SPDY frames of a client of the kubelet: SpdyError only, and frames that do not depend on how the bytes are split.

The first byte seeds the split; the rest is what the client sends. Headers are compressed, so a part of the input may also be the
plain block of a frame that is then compressed.
"""

from __future__ import annotations

import random
import struct
import zlib

from steersman.nodes.kubelet.client_input import SizeReader
from steersman.nodes.kubelet.spdy import DICTIONARY, SYN_STREAM, Control, Data, Reader, SpdyError

TOKENS = (b"\x80\x03\x00\x01", b"\x80\x03\x00\x02", b"\x80\x03\x00\x03\x00\x00\x00\x08", b"\x80\x03\x00\x06\x00\x00\x00\x04", b"\x80\x03\x00\x07", b"\x80\x03\x00\x08",
          b"\x00\x00\x00\x01\x01\x00\x00\x02ab", b"\x00\x00\x00\x01\x00\xff\xff\xff", b"\x00\x00\x00\x02", b"\x00\x00\x00\x0astreamtype", b"\x00\x00\x00\x05stdin",
          b"H", b'{"Width":1,"Height":2}', b"\xff")  # fmt: skip


def run(data: bytes) -> None:
    seed, sent = data[:1], data[1:]
    if sent[:1] == b"H":
        sent = _syn_stream(sent[1:])
    dice = random.Random(seed)
    pieces, at = [], 0
    while at < len(sent):
        size = dice.choice((1, 2, 3, 8, 50))
        pieces.append(sent[at : at + size])
        at += size
    whole, split = _read([sent]), _read(pieces)
    assert whole == split, (whole, split)
    sizes = SizeReader()
    for piece in pieces:
        list(sizes.feed(piece))


def _syn_stream(block: bytes) -> bytes:
    """Return a frame that opens stream 1 with a block of headers."""
    compressor = zlib.compressobj(zdict=DICTIONARY)
    body = struct.pack("!IIH", 1, 0, 0) + compressor.compress(block) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return struct.pack("!II", 0x80030000 | SYN_STREAM, len(body)) + body


def _read(pieces: list[bytes]) -> tuple[list[Control], dict[int, bytes], str]:
    """Return the control frames, the bytes of each stream, and the error."""
    reader = Reader()
    controls: list[Control] = []
    data: dict[int, bytes] = {}
    try:
        for piece in pieces:
            for frame in reader.feed(piece):
                if isinstance(frame, Data):
                    data[frame.stream] = data.get(frame.stream, b"") + frame.data
                else:
                    controls.append(frame)
    except SpdyError as error:
        return controls, data, str(error)
    return controls, data, ""
