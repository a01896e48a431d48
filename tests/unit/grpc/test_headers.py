from __future__ import annotations

import pytest
from hpack import Decoder, Encoder

from steersman.grpc.headers import HeaderBlocks, HeaderError, Method


def method(path):
    return Method(path, scheme="http", authority="peer:1", extra=(("grpc-timeout", "8000m"),))


def test_blocks_of_alternating_methods_decode_in_the_order_they_were_encoded():
    blocks, decoder = HeaderBlocks(), Decoder()
    methods = [method(f"/s/{number}") for number in range(100)]  # more than the table holds
    for item in [*methods, *methods[::-1], *methods[:3] * 3]:
        assert tuple(map(tuple, decoder.decode(blocks.encode(item)))) == item.headers


def test_repeated_block_is_one_octet_per_field():
    blocks, fields = HeaderBlocks(), method("/s/m")
    blocks.encode(fields)
    assert len(blocks.encode(fields)) == len(fields.headers)
    assert blocks.encode(fields) is blocks.encode(fields)


def test_smaller_table_of_the_peer_is_followed():
    blocks, decoder, fields = HeaderBlocks(), Decoder(), method("/s/m")
    decoder.decode(blocks.encode(fields))
    blocks.set_table_size(0)
    decoder.max_allowed_table_size = 0
    for _ in range(3):
        assert tuple(map(tuple, decoder.decode(blocks.encode(fields)))) == fields.headers


def test_indexed_blocks_follow_changes_of_the_table():
    blocks, encoder = HeaderBlocks(), Encoder()
    for number in range(300):
        fields = [("grpc-status", str(number % 7)), ("grpc-message", "x" * (number % 11))]
        assert blocks.decode(encoder.encode(fields)) == dict(fields)


@pytest.mark.parametrize("block", [b"\xfe", b"\xff\xff\xff\xff\x0f", b"\x00"])
def test_invalid_block_is_an_error(block):
    with pytest.raises(HeaderError):
        HeaderBlocks().decode(block)
