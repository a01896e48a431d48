"""One request and its answer on a connection: the two callables that ASGI gives an application.

It does what uvicorn's ``RequestResponseCycle`` does, with less on the way of a small answer: head and body are one write
(one TLS record, one system call), header lines are checked together, and nothing is made to wait on unless somebody waits.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from uvicorn.protocols.http.flow_control import FlowControl

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_log = logging.getLogger(__name__)


def _status_line(code: int) -> bytes:
    try:
        phrase = HTTPStatus(code).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {code} {phrase}\r\n".encode()


_STATUS_LINES: Final = {code: _status_line(code) for code in range(100, 600)}
#: Bytes written to a connection at once, and its high-water mark: a client that does not read costs about two of these,
#: whatever it asked for. Bodies up to this size are copied, to be one write together with the head.
WRITE_BYTES_MAX: Final = 64 * 1024
_WITHOUT_BODY: Final = frozenset({204, 304})
_FAULT: Final = b"Internal Server Error"
_FAULT_HEADERS: Final = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"%d" % len(_FAULT)),
    (b"connection", b"close"),
]


class Cycle:
    """Owned by the connection, which adds to ``body`` and says so with ``set``."""

    __slots__ = (
        "_chunked",
        "_event",
        "_flow",
        "_head",
        "_left",
        "_news",
        "_on_response",
        "_standard",
        "_transport",
        "_waits_for_100",
        "body",
        "disconnected",
        "keep_alive",
        "more_body",
        "response_complete",
        "scope",
        "started",
    )

    def __init__(
        self,
        scope: dict[str, Any],
        transport: asyncio.Transport,
        flow: FlowControl,
        *,
        standard_headers: list[tuple[bytes, bytes]],
        expects_100: bool,
        keep_alive: bool,
        on_response: Callable[[], None],
    ) -> None:
        """``standard_headers`` go before those of the application."""
        self.scope = scope
        self._transport = transport
        self._flow = flow
        self._standard = standard_headers
        self._waits_for_100 = expects_100
        self.keep_alive = keep_alive
        self._on_response = on_response
        self.disconnected = False
        #: What has come of the request and was not received yet; bounded, as the connection stops reading.
        self.body = b""
        self.more_body = True
        #: There is something to receive; and the event of who waits for it, made when somebody does.
        self._news = False
        self._event: asyncio.Event | None = None
        self.started = False
        self.response_complete = False
        self._chunked = False
        #: Bytes of the body that the head has promised and that were not sent.
        self._left = 0
        #: The head of an answer of known length, which goes out together with the first piece of the body.
        self._head = b""

    @property
    def message_event(self) -> Cycle:
        """Under this name the connection looks for whom to tell that there is news (``set``)."""
        return self

    def set(self) -> None:
        """There is more of the body, or the client is gone, or the answer is whole."""
        self._news = True
        if self._event is not None:
            self._event.set()

    async def run(self, app: App) -> None:
        """Have the application answer. Faults of it end in 500, or in a closed connection when it is too late for that."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            self._transport.close()
            raise
        except Exception:  # noqa: BLE001 — nobody is above: this is the task's whole work
            _log.exception("the application failed")
        if self.response_complete or self.disconnected:
            return
        if self.started:
            self._transport.close()
            return
        await self.send({"type": "http.response.start", "status": 500, "headers": _FAULT_HEADERS})
        await self.send({"type": "http.response.body", "body": _FAULT})

    async def receive(self) -> Message:
        """ASGI's ``receive``."""
        if self._waits_for_100 and not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._waits_for_100 = False
        if not self.disconnected and not self.response_complete:
            self._flow.resume_reading()
            if not self._news:
                await self._next()
            self._news = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def _next(self) -> None:
        if self._event is None:
            self._event = asyncio.Event()
        self._event.clear()
        await self._event.wait()

    async def send(self, message: Message) -> None:
        """ASGI's ``send``. Raises RuntimeError for messages out of order, and for a body of another length than promised."""
        if self._flow.write_paused and not self.disconnected:
            await self._flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if not self.started and kind == "http.response.start":
            self._begin(message["status"], message["headers"])
        elif self.started and not self.response_complete and kind == "http.response.body":
            await self._body(message.get("body", b""), more=message.get("more_body", False))
        else:
            raise RuntimeError(f"{kind} out of order")

    def _begin(self, code: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.started = True
        self._waits_for_100 = False
        lines = [_STATUS_LINES[code]]
        length: int | None = None
        says_close = False
        for name, value in (*self._standard, *headers):
            lines.append(b"%b: %b\r\n" % (name, value))
            if name == b"content-length":
                length = int(value)
            elif name == b"connection" and value == b"close":
                says_close = True
        if says_close:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        if length is None and code not in _WITHOUT_BODY and self.scope["method"] != "HEAD":
            self._chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        head = b"".join(lines)
        # No header may hold the end of a line, or it would end where its writer does not say.
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines) or b"\0" in head:
            self.started = False
            raise RuntimeError("a header holds the end of a line")
        if length is None:
            self._transport.write(head + b"\r\n")
        else:
            self._left = length
            self._head = head + b"\r\n"

    async def _body(self, body: bytes, *, more: bool) -> None:
        """Write a large piece of the body part by part, each when the client has taken enough of the ones before."""
        start = 0
        if len(body) > WRITE_BYTES_MAX and self.scope["method"] != "HEAD":
            last = len(body) - WRITE_BYTES_MAX
            while start < last:
                self._continue(body[start : start + WRITE_BYTES_MAX], more=True)
                start += WRITE_BYTES_MAX
                if self._flow.write_paused:
                    await self._flow.drain()
                if self.disconnected:
                    return
        self._continue(body[start:] if start else body, more=more)

    def _continue(self, body: bytes, *, more: bool) -> None:
        if self.scope["method"] == "HEAD":
            self._left = 0
            body = b""
        elif self._chunked:
            end = b"" if more else b"0\r\n\r\n"
            body = b"%x\r\n%b\r\n%b" % (len(body), body, end) if body else end
        else:
            self._left -= len(body)
            if self._left < 0:
                raise RuntimeError("the body is longer than its length says")
        if self._head:
            if len(body) > WRITE_BYTES_MAX:
                self._transport.write(self._head)
            else:
                body = self._head + body
            self._head = b""
        if body:
            self._transport.write(body)
        if more:
            return
        if self._left:
            raise RuntimeError("the body is shorter than its length says")
        self.response_complete = True
        self.set()
        if not self.keep_alive:
            self._transport.close()
        self._on_response()
