"""Measurement of streamed responses."""

from steersman.apimachinery.histogram import Histogram
from steersman.apiserver.filters.sized_stream import SizedStream


class Pieces:
    """Stream of two pieces."""

    def __init__(self):
        self.remaining = [b"abc", b"de"]
        self.closed = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.remaining:
            raise StopAsyncIteration
        return self.remaining.pop(0)

    async def aclose(self):
        self.closed += 1


async def test_stream_is_measured_once_at_its_end():
    sizes, pieces = Histogram((10.0,)), Pieces()
    stream = SizedStream(pieces, sizes)
    assert [piece async for piece in stream] == [b"abc", b"de"]
    await stream.aclose()
    await stream.aclose()
    assert (sizes.count, sizes.total, pieces.closed) == (1, 5, 2)


async def test_interrupted_stream_has_the_size_of_the_pieces_that_were_sent():
    sizes, pieces = Histogram((10.0,)), Pieces()
    stream = SizedStream(pieces, sizes)
    assert await anext(stream) == b"abc"
    await stream.aclose()
    assert (sizes.count, sizes.total) == (1, 3)
