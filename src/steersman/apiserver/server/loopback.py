"""In-process client of the application, without a socket, with the streaming behaviour of one.

Upstream's API server uses a loopback connection with its own token; here, post-start hooks and tests use this client.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import unquote

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
    from types import TracebackType

    Message = MutableMapping[str, Any]
    Application = Callable[
        [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
    ]

#: Buffered pieces for a slow reader, above which the application waits.
_PIECES_MAX: Final = 16


class Answer(msgspec.Struct, frozen=True):
    """Complete response."""

    code: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> str:
        """Return the first header of that name, or an empty string."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name.lower().encode()), "")

    def json(self) -> Any:
        """Decode the body."""
        return msgspec.json.decode(self.body)


class _Call:
    """One call of the application, and the client's end of its connection."""

    def __init__(self, app: Application, scope: MutableMapping[str, Any], body: bytes) -> None:
        self._app = app
        self._scope = scope
        self._to_send: bytes | None = body
        #: Set when the client disconnects or has the whole response.
        self._disconnected = asyncio.Event()

    @property
    def _name(self) -> str:
        return f"loopback {self._scope['method']} {self._scope['path']}"

    async def _receive(self) -> Message:
        if self._to_send is not None:
            body, self._to_send = self._to_send, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}


class Exchange(_Call):
    """Request in progress, as context manager. Leaving it early acts like a client that disconnects."""

    def __init__(self, app: Application, scope: MutableMapping[str, Any], body: bytes) -> None:
        super().__init__(app, scope, body)
        self._messages: asyncio.Queue[MutableMapping[str, Any] | None] = asyncio.Queue(_PIECES_MAX)
        self._task: asyncio.Task[None] | None = None
        self.code = 0
        self.headers: list[tuple[bytes, bytes]] = []

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name=self._name)
        try:
            start = await self._messages.get()
        except asyncio.CancelledError:
            await self.__aexit__(None, None, None)  # not entered, so the caller will not exit it
            raise
        if start is None:
            await self._task
            raise ConnectionError("the application gave no answer")
        self.code = start["status"]
        self.headers = list(start["headers"])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._disconnected.set()
        # Messages that wait are dropped, and ``_send`` drops the later ones, so that the application ends.
        while not self._messages.empty():
            self._messages.get_nowait()
        if not self._task.done():
            await asyncio.wait([self._task])
        with suppress(ConnectionError):  # raised to the reader, if there was one
            await self._task

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the body. Raises ConnectionError if the application aborts the response."""
        assert self._task is not None
        while (message := await self._next()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                return
        if not self._disconnected.is_set():
            await self._task

    async def _next(self) -> Message | None:
        """Return the next message; None when the application has ended, which it cannot add to a full queue."""
        assert self._task is not None
        return None if self._task.done() and self._messages.empty() else await self._messages.get()

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._send)
        finally:
            if not self._messages.full():
                self._messages.put_nowait(None)

    async def _send(self, message: Message) -> None:
        if not self._disconnected.is_set():
            await self._messages.put(message)


class _WholeExchange(_Call):
    """Request whose response is read as a whole. Cancellation of the caller acts like a client that disconnects."""

    def __init__(self, app: Application, scope: MutableMapping[str, Any], body: bytes) -> None:
        super().__init__(app, scope, body)
        #: Done when the application has ended; apart from its task, which a cancelled caller must not cancel.
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._messages: list[Message] = []
        self._is_complete = False

    async def answer(self) -> Answer:
        """Return the response. Raises ConnectionError if the application aborts it."""
        task = asyncio.create_task(self._run(), name=self._name)
        try:
            await self._ended
        except asyncio.CancelledError:
            self._disconnected.set()
            if not task.done():
                await asyncio.wait([task])
            with suppress(ConnectionError):
                await task
            raise
        try:
            await task
        except ConnectionError:
            if not self._is_complete:
                raise
        if not self._messages:
            raise ConnectionError("the application gave no answer")
        start, *pieces = self._messages
        body = b"".join([piece["body"] for piece in pieces if piece.get("body")])
        return Answer(start["status"], list(start["headers"]), body)

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._send)
        finally:
            if not self._ended.done():
                self._ended.set_result(None)

    async def _send(self, message: Message) -> None:
        if self._disconnected.is_set():
            return
        self._messages.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._is_complete = True
            self._disconnected.set()


class Loopback:
    """In-process client of one application."""

    def __init__(
        self,
        app: Application,
        *,
        headers: Mapping[str, str] | None = None,
        more_headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        """``more_headers`` may repeat names; they are sent with every request."""
        self._app = app
        self._headers = dict(headers or {})
        self._more_headers = [(key.lower().encode(), value.encode("latin-1")) for key, value in more_headers]

    def through(self, app: Application, *, headers: Sequence[tuple[str, str]] = ()) -> Loopback:
        """Return a client with the same credentials whose requests pass ``app``, with further headers."""
        client = Loopback(app, headers=self._headers, more_headers=headers)
        client._more_headers[:0] = self._more_headers
        return client

    def open(
        self, method: str, target: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Exchange:
        """Start a request for ``target`` (path and query); enter the returned context manager."""
        return Exchange(self._app, self._scope(method, target, body, headers), body or b"")

    async def request(
        self, method: str, target: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request and return the complete response."""
        return await _WholeExchange(self._app, self._scope(method, target, body, headers), body or b"").answer()

    def _scope(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str] | None) -> Message:
        path, _, query = target.partition("?")
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            sent = {"content-type": "application/json", **sent, "content-length": str(len(body))}
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                *((key.lower().encode(), value.encode("latin-1")) for key, value in sent.items()),
                *self._more_headers,
            ],
            "client": None,
            "server": None,
        }
