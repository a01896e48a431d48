"""ASGI application: converts a scope to a ``Request``, calls the handler chain, and sends its ``Response``."""

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
    from collections.abc import Awaitable, Callable, MutableMapping, Sequence

    from steersman.apiserver.filters.request_metrics import RequestMetrics
    from steersman.apiserver.http import Handler, Receive, Response
    from steersman.apiserver.server.request_log import RequestLog
    from steersman.asynckit.clock import Clock, Timer

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: Interval of checks for requests that exceed their timeout.
_SWEEP_SECONDS: Final = 1.0
#: As upstream, longer audit IDs of clients are truncated.
_AUDIT_ID_MAX: Final = 64
_CACHE_CONTROL: Final = (b"cache-control", b"no-cache, private")


class Application:
    """ASGI 3 application for ``http`` scopes.

    A request whose response does not start within ``timeout_seconds`` gets a 504. ``end_watches`` ends long-running
    streams.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        clock: Clock,
        timeout_seconds: float = 60.0,
        randomness: Callable[[int], bytes] = os.urandom,
        request_log: RequestLog | None = None,
        metrics: RequestMetrics | None = None,
        extra_headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """``request_log``: log of requests; None if disabled. ``metrics`` counts requests that are stopped. ``extra_headers``:
        headers of all responses.
        """
        self._handler = handler
        self.request_log = request_log
        self._extra_headers = extra_headers
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._audit_ids = AuditIds(randomness)
        #: Task and start time of requests whose response has not started, oldest first.
        self._running: dict[asyncio.Task[Any], tuple[float, Request]] = {}
        #: Tasks cancelled by the timeout, as opposed to cancellation from outside.
        self._stopped: set[asyncio.Task[Any]] = set()
        self._metrics = metrics
        self._streams = Streams(aborted=None if metrics is None else metrics.aborted)
        self.loop_guard = LoopGuard(clock)
        self._sweep: Timer | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} here, only http")
        request = Request(scope, receive)
        client_audit_id = request.first_headers.get(b"audit-id")
        audit_id = client_audit_id[:_AUDIT_ID_MAX] if client_audit_id else self._audit_ids.next()
        request.audit_id = audit_id.decode("latin-1")
        log = self.request_log
        received = 0.0 if log is None else log.now()
        response = await self._answer(request)
        headers = [*response.headers, (b"audit-id", audit_id), *self._extra_headers]
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
        """Send a response of unknown length, or hand over its connection."""
        if response.tunnel is not None:
            await self._streams.hand_over(request, response.tunnel, headers)
            return
        if response.code == 101:
            await self._streams.serve_websocket(request, response, headers)
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
            if self._metrics is not None:
                self._metrics.timed_out(request.info)
            return render_status(request, timeout("request did not complete within the allotted timeout"))
        finally:
            del self._running[task]

    def _stop_slow(self) -> None:
        """Cancel requests that exceed their timeout. A periodic check is cheaper than one timer per request."""
        self._sweep = self._clock.timer(_SWEEP_SECONDS, self._stop_slow) if self._running else None
        latest = self._clock.monotonic() - self._timeout_seconds
        for task, (started, request) in self._running.items():
            if started > latest:
                break
            if task not in self._stopped and not is_long_running(request.info):
                self._stopped.add(task)
                task.cancel()

    def end_watches(self) -> None:
        """End every long-running stream without an error, including those that start later."""
        self._streams.end_watches()

    async def drain_watches(self, seconds: float) -> None:
        """End open long-running streams in up to ``seconds``, and those that start later at once."""
        await self._streams.drain_watches(seconds, clock=self._clock)

    @property
    def busy(self) -> int:
        """Return the number of requests in progress."""
        return len(self._running) + len(self._streams)


@text_cache(256, length_max=1024)
def _warning(text: str) -> bytes:
    plain = "".join(char if char >= " " and char != "\x7f" else " " for char in text)
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode()
