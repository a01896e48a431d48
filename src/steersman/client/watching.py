"""One WATCH: lines of a stream as events."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.client.decoding import ERROR, decoding_of
from steersman.client.errors import RequestFailed, UnreadableAnswer, from_answer, from_status
from steersman.client.gc_pause import gc_paused
from steersman.client.transport import Answer, TransportError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from steersman.client.decoding import WatchEvent
    from steersman.client.resource_types import ResourceType
    from steersman.client.sending import Sender
    from steersman.client.transport import Request, Stream

T = TypeVar("T")

#: Objects are far smaller (etcd's limit is 1.5 MiB); a line that does not end is no watch.
_LINE_BYTES_MAX: Final = 64 * 1024 * 1024


class Watch(Generic[T]):
    """An open watch; iterate over it. It ends when the server ends it.

    A bookmark's object is a ``Bookmark``. Raises ``ApiError`` (``Expired``: list again) for an error event, and
    ``RequestFailed`` when the connection breaks.
    """

    def __init__(self, stream: Stream, resource: ResourceType[T]) -> None:
        self._stream = stream
        self._decode = decoding_of(resource).decode_event

    async def __aiter__(self) -> AsyncIterator[WatchEvent[Any]]:
        async for lines in self.batches():
            for event in lines:
                yield event

    async def batches(self) -> AsyncGenerator[list[WatchEvent[Any]], None]:
        """Events as they come, those of one piece of the stream together."""
        try:
            async for lines in split_lines(self._stream):
                with gc_paused(sum(map(len, lines))):
                    events = [self._decode(line) for line in lines]
                failed = next((at for at, event in enumerate(events) if event.type == ERROR), None)
                if failed is None:
                    yield events
                    continue
                if failed:
                    yield events[:failed]
                status = events[failed].object
                raise from_status(status if isinstance(status, dict) else {})
        except TransportError as error:
            raise RequestFailed(f"the watch broke: {error}") from error


@asynccontextmanager
async def open_watch(sender: Sender, request: Request, resource: ResourceType[T]) -> AsyncIterator[Watch[T]]:
    """The watch that ``request`` asks for. Raises ``ApiError`` when the server refuses it, ``RequestFailed``."""
    async with sender.open(request) as stream:
        if stream.status >= 400:
            try:
                body = b"".join([piece async for piece in stream])
            except TransportError as error:
                raise RequestFailed(f"{request.path}: {error}") from error
            answer = Answer(stream.status, stream.headers, body)
            raise from_answer(answer, method=request.method, group_resource=resource.info.group_resource)
        yield Watch(stream, resource)


async def split_lines(stream: Stream) -> AsyncIterator[list[bytes]]:
    """The whole lines of each piece, without empty ones. What follows the last line's end is thrown away at the end."""
    rest = b""
    async for piece in stream:
        if b"\n" not in piece:
            rest += piece
            if len(rest) > _LINE_BYTES_MAX:
                raise UnreadableAnswer(f"a line of the watch is longer than {_LINE_BYTES_MAX} bytes")
            continue
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        if whole := [line for line in lines if line.strip()]:
            yield whole
