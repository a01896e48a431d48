"""Measurement of streamed responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.apimachinery.histogram import Histogram


class SizedStream:
    """Stream of a response whose size is observed at its end."""

    def __init__(self, pieces: AsyncIterator[bytes], sizes: Histogram) -> None:
        self._pieces: Final = pieces
        self._sizes: Final = sizes
        self._size = 0
        self._is_closed = False

    def __aiter__(self) -> SizedStream:
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._pieces)
        self._size += len(piece)
        return piece

    async def aclose(self) -> None:
        """Observe the bytes that were sent, and close the stream. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self._sizes.observe(self._size)
        aclose = getattr(self._pieces, "aclose", None)
        if aclose is not None:
            await aclose()
