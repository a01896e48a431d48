"""One WATCH request: decodes the lines of a stream into events."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.client.decoding import ERROR, decoding_of
from steersman.client.errors import RequestFailed, UnexpectedResponse, from_response, from_status
from steersman.client.gc_pause import gc_paused
from steersman.client.transport import Response, TransportError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from steersman.client.decoding import WatchEvent
    from steersman.client.resource_types import ResourceType
    from steersman.client.sending import Sender
    from steersman.client.transport import Request, Stream

T = TypeVar("T")

#: Bound for one line. Objects are far smaller (etcd's limit is 1.5 MiB).
_LINE_BYTES_MAX: Final = 64 * 1024 * 1024


class Watch(Generic[T]):
    """An open watch; iterate over it. It ends when the server ends it.

    The object of a bookmark is a ``Bookmark``. Raises ``ApiError`` (``Expired``: list again) for an error event, and
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
        """Yield lists of events, one per chunk of the stream."""
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
    """Open the watch of ``request``. Raises ``ApiError`` for an error status, ``RequestFailed``."""
    async with sender.open(request) as stream:
        if stream.status >= 400:
            try:
                body = b"".join([chunk async for chunk in stream])
            except TransportError as error:
                raise RequestFailed(f"{request.path}: {error}") from error
            response = Response(stream.status, stream.headers, body)
            raise from_response(response, method=request.method, group_resource=resource.info.group_resource)
        yield Watch(stream, resource)


async def split_lines(stream: Stream) -> AsyncIterator[list[bytes]]:
    """Yield the complete, non-empty lines of each chunk. An incomplete last line is discarded."""
    rest = b""
    async for chunk in stream:
        if b"\n" not in chunk:
            rest += chunk
            if len(rest) > _LINE_BYTES_MAX:
                raise UnexpectedResponse(f"a line of the watch is longer than {_LINE_BYTES_MAX} bytes")
            continue
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if whole := [line for line in lines if line.strip()]:
            yield whole
