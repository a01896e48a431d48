"""Streamed responses and handed-over connections; each runs in the task of its request until one side ends it.

Not compiled (decision 0006): compiled code handles the exceptions that end a stream differently.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.filters.max_in_flight import is_long_running
from steersman.apiserver.server.tunnel import copy_both_ways
from steersman.apiserver.server.websocket_stream import serve_websocket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from steersman.apiserver.http import Request, Response, Tunnel
    from steersman.apiserver.request import RequestInfo
    from steersman.asynckit.clock import Clock

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_log = logging.getLogger(__name__)

#: Rate at which watches end during a shutdown, at least, and interval of the ends.
_WATCHES_PER_SECOND_MIN: Final = 200.0
_BATCH_SECONDS: Final = 0.1


class Streams:
    """Streams in progress."""

    def __init__(self, aborted: Callable[[RequestInfo], None] | None = None) -> None:
        """``aborted`` is called for each response that is cut off by an error."""
        self._aborted = aborted
        #: By sending task; True for long-running streams.
        self._running: dict[asyncio.Task[Any], bool] = {}
        #: Tasks cancelled here, as opposed to cancellation from outside.
        self._stopped: set[asyncio.Task[Any]] = set()
        self._draining = False

    def __len__(self) -> int:
        return len(self._running)

    async def send(self, request: Request, response: Response, send: Send) -> None:
        """Send a stream until it ends, the client disconnects, or the server shuts down."""
        stream = response.stream
        assert stream is not None
        task = task_of(request)
        self._running[task] = is_long_running(request.info)
        watcher = asyncio.create_task(self._stop_when_gone(request, task), name="disconnect watcher")
        if self._draining and self._running[task]:
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
            # The response has started, so the server can only cut it off: it does so if the end is not sent.
            _log.exception("%s %s failed while streaming, audit id %s", request.method, request.path, request.audit_id)
            if self._aborted is not None:
                self._aborted(request.info)
            return
        finally:
            self._stopped.discard(task)
            del self._running[task]
            watcher.cancel()
            if response.on_end is not None:
                response.on_end()
            aclose = getattr(stream, "aclose", None)
            if aclose is not None:
                await aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def hand_over(self, request: Request, tunnel: Tunnel, headers: list[tuple[bytes, bytes]]) -> None:
        """Tunnel bytes until one side closes or the server shuts down."""
        task = task_of(request)
        self._running[task] = True
        if self._draining:
            self._stop(task)
        try:
            await copy_both_ways(request.scope["extensions"]["steersman.upgrade"], tunnel, headers)
        except asyncio.CancelledError:
            if task not in self._stopped:
                raise
            task.uncancel()
        finally:
            self._stopped.discard(task)
            del self._running[task]

    async def serve_websocket(self, request: Request, response: Response, headers: list[tuple[bytes, bytes]]) -> None:
        """Send WebSocket frames until the stream ends, the client closes, or the server shuts down."""
        stream = response.stream
        assert stream is not None
        task = task_of(request)
        self._running[task] = True
        if self._draining:
            self._stop(task)
        try:
            await serve_websocket(request.scope["extensions"]["steersman.upgrade"], stream, headers)
        except asyncio.CancelledError:
            if task not in self._stopped:
                raise
            task.uncancel()
        except Exception:  # noqa: BLE001 — it is logged, and the connection closed
            _log.exception("%s %s failed while streaming, audit id %s", request.method, request.path, request.audit_id)
        finally:
            self._stopped.discard(task)
            del self._running[task]
            if response.on_end is not None:
                response.on_end()
            aclose = getattr(stream, "aclose", None)
            if aclose is not None:
                await aclose()

    async def _stop_when_gone(self, request: Request, task: asyncio.Task[Any]) -> None:
        await request.disconnected()
        self._stop(task)

    def _stop(self, task: asyncio.Task[Any]) -> None:
        if task in self._running and task not in self._stopped:
            self._stopped.add(task)
            task.cancel()

    def end_watches(self) -> None:
        """End every long-running stream without an error, including those that start later."""
        self._draining = True
        for task in self._long_running():
            self._stop(task)

    async def drain_watches(self, seconds: float, *, clock: Clock) -> None:
        """End open long-running streams at a constant rate, within ``seconds``; those that start later end at once.

        Upstream: ``WatchRequestWaitGroup.Wait`` of ``genericapiserver.go``.
        """
        self._draining = True
        tasks = self._long_running()
        rate = max(_WATCHES_PER_SECOND_MIN, len(tasks) / seconds) if seconds > 0 else float("inf")
        batch = max(1, round(min(len(tasks), rate * _BATCH_SECONDS)))
        for start in range(0, len(tasks), batch):
            if start:
                await clock.sleep(_BATCH_SECONDS)
            for task in tasks[start : start + batch]:
                self._stop(task)

    def _long_running(self) -> list[asyncio.Task[Any]]:
        return [task for task, is_long in self._running.items() if is_long]


def task_of(request: Request) -> asyncio.Task[Any]:
    """Return the task that serves the request, from its scope."""
    task = request.scope.get("steersman.task") or asyncio.current_task()
    assert task is not None
    return task
