"""Exchange of one request and its response: the ``receive`` and ``send`` callables of ASGI."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.server.http1.limits import DISCARDED_BYTES_MAX, TURN_BYTES, WRITE_BYTES_MAX
from steersman.asynckit.slices import next_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.server.http1.flow import Flow
    from steersman.apiserver.server.http1.request_body import RequestBody
    from steersman.apiserver.server.http1.response import ResponseFraming
    from steersman.apiserver.server.http1.state import App, Message

_log = logging.getLogger(__name__)

_FAULT: Final = b"Internal Server Error"
_FAULT_HEADERS: Final = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"%d" % len(_FAULT)),
]


class Exchange:
    """Request in progress.

    The connection fills ``body`` and calls ``notify``; the application calls ``receive`` and ``send``.
    """

    __slots__ = (
        "_date_line",
        "_event",
        "_expects_100",
        "_flow",
        "_is_body_received",
        "_on_response",
        "body",
        "is_cut",
        "is_disconnected",
        "response",
        "scope",
    )

    def __init__(
        self,
        scope: dict[str, Any],
        body: RequestBody | None,
        response: ResponseFraming,
        flow: Flow,
        *,
        date_line: bytes,
        expects_100: bool,
        on_response: Callable[[], None],
    ) -> None:
        """``body``: None without a request body. ``on_response``: called once, when the response is complete."""
        self.scope = scope
        self.body = body
        self.response = response
        self._flow = flow
        self._date_line = date_line
        #: The client waits for ``100 Continue``.
        self._expects_100 = expects_100
        self._on_response = on_response
        self._is_body_received = False
        #: The rest of the request is lost; a response may still be sent.
        self.is_cut = False
        #: The connection is lost; sends are dropped.
        self.is_disconnected = False
        #: Created when the application waits.
        self._event: asyncio.Event | None = None

    def notify(self) -> None:
        """Wake ``receive``: more data, or the end of the exchange."""
        if self._event is not None:
            self._event.set()

    def cut(self) -> None:
        """Mark the rest of the request as lost; the application receives a disconnect."""
        self.is_cut = True
        self.notify()

    def disconnect(self) -> None:
        """Mark the client as disconnected; sends are dropped."""
        self.is_disconnected = True
        self.notify()

    async def run(self, app: App) -> None:
        """Call the application. Its exceptions become a 500, or cut off a response that has begun."""
        response = self.response
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            response.cut()
            raise
        except Exception:  # noqa: BLE001 — the task ends here
            _log.exception("the application failed")
        if response.is_complete or self.is_disconnected:
            return
        if response.is_started:
            response.cut()
            return
        response.keep_alive = False
        await self.send({"type": "http.response.start", "status": 500, "headers": _FAULT_HEADERS})
        await self.send({"type": "http.response.body", "body": _FAULT})

    async def receive(self) -> Message:
        """Receive an ASGI message."""
        while not (self.is_cut or self.is_disconnected or self.response.is_complete):
            if not self._is_body_received:
                body = self.body
                if body is None:
                    self._is_body_received = True
                    return {"type": "http.request", "body": b"", "more_body": False}
                is_complete = body.is_complete
                if is_complete or body.size:
                    self._is_body_received = is_complete
                    if not is_complete:
                        self._flow.resume_reading()
                    return {"type": "http.request", "body": body.take(), "more_body": not is_complete}
                if self._expects_100 and not self.response.is_started:
                    self._expects_100 = False
                    self.response.write_continue()
            if self._event is None:
                self._event = asyncio.Event()
            self._event.clear()
            await self._event.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send an ASGI message. Raises RuntimeError if it is out of order or the body differs from its Content-Length."""
        if self._flow.write_paused and not self.is_disconnected:
            await self._flow.drain()
        if self.is_disconnected:
            await asyncio.sleep(0)  # noqa: TID251 — an endless stream must not hold the loop
            return
        response = self.response
        kind = message["type"]
        if not response.is_started and kind == "http.response.start":
            if self._expects_100 and self._is_body_missing():
                # The client may or may not send the body, so the end of the request is unknown.
                response.keep_alive = False
            if self.body is not None and self.body.missing_bytes > DISCARDED_BYTES_MAX:
                response.keep_alive = False
            response.begin(message["status"], message["headers"], self._date_line)
        elif response.is_started and not response.is_complete and kind == "http.response.body":
            part = message.get("body", b"")
            is_last = not message.get("more_body", False)
            if len(part) > WRITE_BYTES_MAX:
                await self._send_large(part, is_last=is_last)
            else:
                response.write(part, is_last=is_last)
            if is_last:
                self._end()
        else:
            raise RuntimeError(f"{kind} out of order")

    def _end(self) -> None:
        if self.response.is_complete:  # not if the client disconnected during the last part
            self.notify()
            self._on_response()

    def _is_body_missing(self) -> bool:
        return self.body is not None and not self.body.is_complete and not self.body.size

    async def _send_large(self, body: bytes, *, is_last: bool) -> None:
        """Write a body in parts, each after the client has read enough of the previous ones."""
        start = 0
        last = len(body) - WRITE_BYTES_MAX
        while start < last:
            self.response.write(body[start : start + WRITE_BYTES_MAX], is_last=False)
            start += WRITE_BYTES_MAX
            if start % TURN_BYTES == 0:
                await next_turn()
            if self._flow.write_paused:
                await self._flow.drain()
            if self.is_disconnected:
                return
        self.response.write(body[start:], is_last=is_last)
