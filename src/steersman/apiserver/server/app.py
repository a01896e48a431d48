"""The ASGI application: a scope becomes a ``Request``, walks the chain, and its ``Response`` is sent."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import timeout
from steersman.apiserver.endpoints.representation import render_status
from steersman.apiserver.filters.audit import AuditIds
from steersman.apiserver.filters.fairness import is_long_running
from steersman.apiserver.http import Request
from steersman.apiserver.server.tunnel import carry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from steersman.apiserver.http import Handler, Receive, Response, Tunnel
    from steersman.asynckit.clock import Clock, Timer

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_log = logging.getLogger(__name__)

#: How often requests are looked at whether they take too long.
_SWEEP_SECONDS: Final = 1.0
#: As upstream: longer ids that clients bring are cut.
_AUDIT_ID_MAX: Final = 64
#: Bounds of what Warning headers may hold in all, in characters (upstream's ``truncateAtTotalRunes``).
_WARNINGS_MAX: Final = 4096
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
    ) -> None:
        self._handler = handler
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._audit_ids = AuditIds(randomness)
        #: Requests whose answer has not begun, by the task that serves each, with the time of their start, oldest first.
        self._running: dict[asyncio.Task[Any], tuple[float, Request]] = {}
        #: Tasks that send a stream; True for those that stay open until somebody ends them.
        self._streaming: dict[asyncio.Task[Any], bool] = {}
        #: Tasks cancelled here and not from outside.
        self._stopped: set[asyncio.Task[Any]] = set()
        self._sweep: Timer | None = None
        self._draining = False

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} here, only http")
        request = Request(scope, receive)
        brought = request.first_headers.get(b"audit-id")
        audit_id = brought[:_AUDIT_ID_MAX] if brought else self._audit_ids.next()
        request.audit_id = audit_id.decode("latin-1")
        response = await self._answer(request)
        headers = [*response.headers, (b"audit-id", audit_id)]
        for name, _ in headers:
            if name == b"cache-control":
                break
        else:
            headers.append(_CACHE_CONTROL)
        if request.warnings:
            headers += _warning_headers(request.warnings)
        if response.tunnel is not None:
            await self._hand_over(request, response.tunnel, headers)
            return
        if response.stream is not None:
            await send({"type": "http.response.start", "status": response.code, "headers": headers})
            await self._send_stream(request, response, send)
            return
        body = response.body
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": response.code, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, request: Request) -> Response:
        task = _task_of(request)
        self._running[task] = (self._clock.monotonic(), request)
        if self._sweep is None:
            self._sweep = self._clock.timer(_SWEEP_SECONDS, self._stop_slow)
        try:
            return await self._handler(request)
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

    async def _send_stream(self, request: Request, response: Response, send: Send) -> None:
        """Piece by piece; the end of the stream, of the client, or of the server ends it."""
        stream = response.stream
        assert stream is not None
        task = _task_of(request)
        self._streaming[task] = is_long_running(request.info)
        watcher = asyncio.create_task(self._stop_when_gone(request, task), name="disconnect watcher")
        if self._draining and self._streaming[task]:
            self._stop(task)
        push, attach = request.scope.get("extensions", {}).get("steersman.push"), getattr(stream, "attach", None)
        if push is not None and attach is not None:
            attach(push)
        try:
            async for piece in stream:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except asyncio.CancelledError:
            if task not in self._stopped:
                raise
            task.uncancel()
        except Exception:  # noqa: BLE001 — it is logged, and the answer broken off
            # The answer has begun, so the server can only break it off: it does when the end is not sent.
            _log.exception("%s %s failed while streaming, audit id %s", request.method, request.path, request.audit_id)
            return
        finally:
            self._stopped.discard(task)
            del self._streaming[task]
            watcher.cancel()
            if response.on_end is not None:
                response.on_end()
            aclose = getattr(stream, "aclose", None)
            if aclose is not None:
                await aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _hand_over(self, request: Request, tunnel: Tunnel, headers: list[tuple[bytes, bytes]]) -> None:
        """Bytes both ways until one side closes, or the server ends."""
        task = _task_of(request)
        self._streaming[task] = True
        if self._draining:
            self._stop(task)
        try:
            await carry(request.scope["extensions"]["steersman.upgrade"], tunnel, headers)
        except asyncio.CancelledError:
            if task not in self._stopped:
                raise
            task.uncancel()
        finally:
            self._stopped.discard(task)
            del self._streaming[task]

    async def _stop_when_gone(self, request: Request, task: asyncio.Task[Any]) -> None:
        await request.disconnected()
        self._stop(task)

    def _stop(self, task: asyncio.Task[Any]) -> None:
        if task in self._streaming and task not in self._stopped:
            self._stopped.add(task)
            task.cancel()

    def end_watches(self) -> None:
        """End every long-running stream as if it had nothing more to say, and every one that begins from now on."""
        self._draining = True
        for task, long_running in list(self._streaming.items()):
            if long_running:
                self._stop(task)

    @property
    def busy(self) -> int:
        """How many requests are being served."""
        return len(self._running) + len(self._streaming)


def _task_of(request: Request) -> asyncio.Task[Any]:
    """The task that serves the request: the connection tells it."""
    task = request.scope.get("steersman.task") or asyncio.current_task()
    assert task is not None
    return task


def _warning_headers(warnings: list[str]) -> list[tuple[bytes, bytes]]:
    """``Warning: 299 - "text"``, each once; what goes beyond the bound is left out."""
    headers = []
    left = _WARNINGS_MAX
    for text in dict.fromkeys(warnings):
        if len(text) > left:
            break
        left -= len(text)
        headers.append((b"warning", _warning(text)))
    return headers


@lru_cache(maxsize=256)
def _warning(text: str) -> bytes:
    plain = "".join(char if char >= " " and char != "\x7f" else " " for char in text)
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode()
