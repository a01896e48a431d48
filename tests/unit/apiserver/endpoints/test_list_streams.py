import threading
import zlib
from types import SimpleNamespace

from steersman.apiserver.endpoints.list_streams import (
    PIECE_BYTES,
    PIECE_OBJECTS,
    compressed,
    gzip,
    pieces_of,
    streamed,
)
from steersman.apiserver.generic.entry import Entry
from steersman.apiserver.workers import LARGE_BYTES
from steersman.asynckit.clock import RealClock


async def pieces(*arguments):
    for piece in arguments:
        yield piece


async def test_pieces_are_joined_by_commas_between_head_and_tail():
    sent = [piece async for piece in streamed(pieces(b"1,2", b"3"), b"[", b"]", pretty=False)]
    assert sent == [b"[1,2", b",3", b"]"]


async def test_pretty_pieces_join_to_one_document():
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


async def test_compressed_stream_is_one_gzip_member():
    sent = [piece async for piece in compressed(pieces(b"a" * 1000, b"b" * 1000))]
    assert zlib.decompress(b"".join(sent), 16 + zlib.MAX_WBITS) == b"a" * 1000 + b"b" * 1000


def test_whole_response_is_compressed_alike():
    assert zlib.decompress(gzip(b"c" * 1000), 16 + zlib.MAX_WBITS) == b"c" * 1000


class NameView:
    """Shows the key of an object; records the threads that asked."""

    is_raw = False

    def __init__(self):
        self.threads = {}

    def item(self, entry):
        self.threads[entry.key] = threading.get_ident()
        return entry.key.encode()


async def pieces_of_sizes(view, *sizes):
    entries = [Entry(str(number), bytes(size), 1) for number, size in enumerate(sizes)]
    served = SimpleNamespace(clock=RealClock())
    return [piece async for piece in pieces_of(served, view, entries, sum(sizes))]


async def test_pieces_of_decoded_objects_are_bounded_by_objects_and_by_bytes():
    assert [piece.count(b",") + 1 for piece in await pieces_of_sizes(NameView(), *([1] * (PIECE_OBJECTS + 1)))] == [
        PIECE_OBJECTS,
        1,
    ]
    size = LARGE_BYTES
    pieces = await pieces_of_sizes(NameView(), *([size] * 7))
    assert b",".join(pieces) == b"0,1,2,3,4,5,6"
    assert max(piece.count(b",") + 1 for piece in pieces) == -(-PIECE_BYTES // size)


async def test_pieces_of_large_objects_are_encoded_in_workers():
    view = NameView()
    assert await pieces_of_sizes(view, LARGE_BYTES, LARGE_BYTES + 1) == [b"0,1"]
    assert view.threads["0"] == threading.get_ident() != view.threads["1"]


async def test_empty_list_has_no_pieces():
    assert await pieces_of_sizes(NameView()) == []
