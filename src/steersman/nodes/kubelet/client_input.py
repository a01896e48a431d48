"""Buffers of client input for a command or connection: bounded bytes, and the latest size of the client's terminal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.nodes.kubelet.host import Size

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Unread bytes above which the sender waits.
_UNREAD_BYTES_MAX: Final = 64 * 1024
#: Maximum length of an incomplete JSON document.
_SIZE_BYTES_MAX: Final = 1024


class Inbox:
    """Bounded buffer of bytes between a connection and the reader of one of its streams."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._has_ended = self._is_discarded = False
        self._changed = asyncio.Condition()

    async def put(self, data: bytes) -> None:
        """Append data; wait while the buffer is full. Data after the end is dropped."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._data) < _UNREAD_BYTES_MAX or self._is_discarded)
            if not self._has_ended:
                self._data += data
                self._changed.notify_all()

    async def end(self, *, discard: bool = False) -> None:
        """Mark the end of the data; ``discard`` also drops unread data."""
        async with self._changed:
            self._has_ended = True
            if discard:
                self._is_discarded = True
                self._data.clear()
            self._changed.notify_all()

    async def read(self) -> bytes:
        """Wait for data and return all unread data; empty at the end."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._data or self._has_ended)
            data = bytes(self._data)
            self._data.clear()
            self._changed.notify_all()
            return data


class LatestSize:
    """Latest unread size of a terminal."""

    def __init__(self) -> None:
        self._sizes: asyncio.Queue[Size] = asyncio.Queue(1)

    def put(self, size: Size) -> None:
        """Replace the unread size."""
        if self._sizes.full():
            self._sizes.get_nowait()
        self._sizes.put_nowait(size)

    async def get(self) -> Size:
        """Wait for a size."""
        return await self._sizes.get()


def read_size(document: bytes) -> Size | None:
    """Decode a size; None if it is malformed."""
    try:
        return msgspec.json.decode(document, type=Size)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class SizeReader:
    """Decoder of concatenated sizes, which arrive in chunks. Sizes are flat objects, so ``}`` ends each."""

    def __init__(self) -> None:
        self._unread = b""

    def feed(self, data: bytes) -> Iterator[Size]:
        """Yield complete sizes; malformed ones are dropped."""
        *documents, self._unread = (self._unread + data).split(b"}")
        self._unread = self._unread[:_SIZE_BYTES_MAX]
        for document in documents:
            if (size := read_size(document + b"}")) is not None:
                yield size
