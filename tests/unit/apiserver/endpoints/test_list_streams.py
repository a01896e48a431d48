import zlib

from steersman.apiserver.endpoints.list_streams import compressed, gzip, streamed


async def pieces(*given):
    for piece in given:
        yield piece


async def test_pieces_are_joined_by_commas_between_head_and_tail():
    sent = [piece async for piece in streamed(pieces(b"1,2", b"3"), b"[", b"]", pretty=False)]
    assert sent == [b"[1,2", b",3", b"]"]


async def test_pretty_pieces_make_one_text():
    head = b'{"kind":"List","items":['
    sent = [piece async for piece in streamed(pieces(b'{"a":1}', b'{"a":2}'), head, b"]}", pretty=True)]
    lines = [
        "{",
        '  "kind": "List",',
        '  "items": [',
        "    {",
        '      "a": 1',
        "    },",
        "    {",
        '      "a": 2',
        "    }",
    ]
    assert b"".join(sent).decode().splitlines() == [*lines, "  ]", "}"]


async def test_a_compressed_stream_is_one_gzip_text():
    sent = [piece async for piece in compressed(pieces(b"a" * 1000, b"b" * 1000))]
    assert zlib.decompress(b"".join(sent), 16 + zlib.MAX_WBITS) == b"a" * 1000 + b"b" * 1000


def test_a_whole_answer_is_compressed_alike():
    assert zlib.decompress(gzip(b"c" * 1000), 16 + zlib.MAX_WBITS) == b"c" * 1000
