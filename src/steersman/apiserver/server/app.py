"""The ASGI application: a scope becomes a ``Request``, walks the chain, and its ``Response`` is sent."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import timeout
from steersman.apimachinery.text_cache import text_cache
from steersman.apiserver.endpoints.representation import render_status
from steersman.apiserver.filters.max_in_flight import is_long_running
from steersman.apiserver.filters.request_counts import AuditIds
from steersman.apiserver.http import Request
from steersman.apiserver.server.loop_guard import LoopGuard
from steersman.apiserver.server.streams import Streams, task_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from steersman.apiserver.http import Handler, Receive, Response
    from steersman.apiserver.server.request_log import RequestLog
    from steersman.asynckit.clock import Clock, Timer

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: How often requests are looked at whether they take too long.
_SWEEP_SECONDS: Final = 1.0
#: As upstream: longer ids that clients bring are cut.
_AUDIT_ID_MAX: Final = 64
#: Bounds of what Warning headers may hold in all, in characters (upstream's ``truncateAtTotalRunes``).
_CACHE_CONTROL: Final = (b"cache-control", b"no-cache, private")


class Application:
    """One ASGI 3 application (``http`` scopes only).

    A request that does not begin to answer within ``timeout_seconds`` is answered with 504. ``drain`` ends watches.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        clock: Clock,
        timeout_seconds: float = 60.0,
        randomness: Callable[[int], bytes] = os.urandom,
        request_log: RequestLog | None = None,
    ) -> None:
        """``request_log``: logs each request; None when that is not enabled."""
        self._handler = handler
        self._request_log = request_log
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._audit_ids = AuditIds(randomness)
        #: Requests whose answer has not begun, by the task that serves each, with the time of their start, oldest first.
        self._running: dict[asyncio.Task[Any], tuple[float, Request]] = {}
        #: Those that were cancelled because they take too long, and not from outside.
        self._stopped: set[asyncio.Task[Any]] = set()
        self._streams = Streams()
        self.loop_guard = LoopGuard(clock)
        self._sweep: Timer | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} here, only http")
        request = Request(scope, receive)
        brought = request.first_headers.get(b"audit-id")
        audit_id = brought[:_AUDIT_ID_MAX] if brought else self._audit_ids.next()
        request.audit_id = audit_id.decode("latin-1")
        log = self._request_log
        received = 0.0 if log is None else log.now()
        response = await self._answer(request)
        headers = [*response.headers, (b"audit-id", audit_id)]
        for name, _ in headers:
            if name == b"cache-control":
                break
        else:
            headers.append(_CACHE_CONTROL)
        if request.warnings:
            headers += [(b"warning", _warning(text)) for text in request.warnings.texts]
        if response.tunnel is not None or response.stream is not None:
            try:
                await self._stream(request, response, headers, send)
            finally:
                if log is not None:
                    log.done(request, response.code, received, hijacked=response.code == 101)
            return
        body = response.body
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": response.code, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        if log is not None:
            log.done(request, response.code, received)

    async def _stream(
        self, request: Request, response: Response, headers: list[tuple[bytes, bytes]], send: Send
    ) -> None:
        """Send an answer without a known length, or hand its connection over."""
        if response.tunnel is not None:
            await self._streams.hand_over(request, response.tunnel, headers)
            return
        if response.code == 101:
            await self._streams.converse(request, response, headers)
            return
        await send({"type": "http.response.start", "status": response.code, "headers": headers})
        await self.loop_guard.watch(self._streams.send(request, response, send), request)

    async def _answer(self, request: Request) -> Response:
        task = task_of(request)
        self._running[task] = (self._clock.monotonic(), request)
        if self._sweep is None:
            self._sweep = self._clock.timer(_SWEEP_SECONDS, self._stop_slow)
        try:
            return await self.loop_guard.watch(self._handler(request), request)
        except asyncio.CancelledError:
            if task not in self._stopped:
                raise
            self._stopped.discard(task)
            task.uncancel()
            return render_status(request, timeout("request did not complete within the allotted timeout"))
        finally:
            del self._running[task]

    def _stop_slow(self) -> None:
        """Cancel what has taken too long. Runs while anything is running, as looking is cheaper than a timer a request."""
        self._sweep = self._clock.timer(_SWEEP_SECONDS, self._stop_slow) if self._running else None
        latest = self._clock.monotonic() - self._timeout_seconds
        for task, (started, request) in self._running.items():
            if started > latest:
                break
            if task not in self._stopped and not is_long_running(request.info):
                self._stopped.add(task)
                task.cancel()

    def end_watches(self) -> None:
        """End every long-running stream as if it had nothing more to say, and every one that begins from now on."""
        self._streams.end_watches()

    @property
    def busy(self) -> int:
        """How many requests are being served."""
        return len(self._running) + len(self._streams)


@text_cache(256, length_max=1024)
def _warning(text: str) -> bytes:
    plain = "".join(char if char >= " " and char != "\x7f" else " " for char in text)
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode()
