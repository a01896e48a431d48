"""Streaming of long lists in pieces: other requests run between two pieces, and a slow reader delays no other request."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import prettify
from steersman.apiserver.workers import LARGE_BYTES, in_worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.apiserver.endpoints.views import View
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.served import ServedResource

#: Bounds of a piece of a streamed list: bytes, and decoded objects.
PIECE_BYTES: Final = 192 * 1024
PIECE_OBJECTS: Final = 100
#: As upstream's ``defaultGzipContentEncodingLevel``.
_GZIP_LEVEL: Final = 1
_GZIP_FRAMED: Final = 16 + zlib.MAX_WBITS


async def pieces_of(served: ServedResource, view: View, entries: list[Entry], size: int) -> AsyncIterator[bytes]:
    """Yield the elements of a list, joined in groups; other requests run between two groups. Workers encode large elements."""
    if view.is_raw:
        step = max(1, PIECE_BYTES * len(entries) // size) if size else PIECE_OBJECTS
        for start in range(0, len(entries), step):
            if start:
                await served.clock.sleep(0)
            yield b",".join([entry.raw for entry in entries[start : start + step]])
        return
    items: list[bytes] = []
    remaining_bytes = PIECE_BYTES
    for entry in entries:
        if remaining_bytes <= 0 or len(items) == PIECE_OBJECTS:
            yield b",".join(items)
            await served.clock.sleep(0)
            items, remaining_bytes = [], PIECE_BYTES
        remaining_bytes -= len(entry.raw)
        items.append(await in_worker(view.item, entry) if len(entry.raw) > LARGE_BYTES else view.item(entry))
    if items:
        yield b",".join(items)


async def streamed(pieces: AsyncIterator[bytes], head: bytes, tail: bytes, *, pretty: bool) -> AsyncIterator[bytes]:
    """Yield a list of at least one element piece by piece."""
    before = head
    async for piece in pieces:
        yield (_pretty_piece(before, piece, is_first=before is head) if pretty else b"%b%b" % (before, piece))
        before = b","
    yield b"\n  ]\n}" if pretty else tail


async def joined_items(served: ServedResource, head: bytes, items: list[bytes], tail: bytes) -> AsyncIterator[bytes]:
    """Yield a list piece by piece, of elements that need no separator."""
    pieces = [head]
    size = len(head)
    for item in items:
        pieces.append(item)
        size += len(item)
        if size >= PIECE_BYTES:
            yield b"".join(pieces)
            await served.clock.sleep(0)
            pieces, size = [], 0
    yield b"".join([*pieces, tail])


def _pretty_piece(before: bytes, piece: bytes, *, is_first: bool) -> bytes:
    """Return indented elements of a list; the first piece includes the head of the list."""
    lines = prettify(b'{"":[%b]}' % piece).partition(b"\n")[2].partition(b"\n")[2].removesuffix(b"\n  ]\n}")
    if not is_first:
        return b",\n%b" % lines
    head = prettify(before + b"0]}")
    return b"%b\n%b" % (head[: head.rindex(b"\n    0")], lines)


async def compressed(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FRAMED)
    async for piece in stream:
        packed = await asyncio.to_thread(compressor.compress, piece)
        if packed:
            yield packed
    yield compressor.flush()


def gzip(body: bytes) -> bytes:
    """Compress a complete response body."""
    return zlib.compress(body, _GZIP_LEVEL, wbits=_GZIP_FRAMED)
