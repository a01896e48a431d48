"""Answers that come piece by piece, and connections handed over: each in the task of its request, until somebody ends it.

Not compiled (decision 0006): of what ends a stream the compiler makes something else.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from steersman.apiserver.filters.max_in_flight import is_long_running
from steersman.apiserver.server.conversation import converse
from steersman.apiserver.server.tunnel import carry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from steersman.apiserver.http import Request, Response, Tunnel

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_log = logging.getLogger(__name__)


class Streams:
    """Those under way."""

    def __init__(self) -> None:
        #: By the task that sends; True for those that stay open until somebody ends them.
        self._running: dict[asyncio.Task[Any], bool] = {}
        #: Tasks cancelled here and not from outside.
        self._stopped: set[asyncio.Task[Any]] = set()
        self._draining = False

    def __len__(self) -> int:
        return len(self._running)

    async def send(self, request: Request, response: Response, send: Send) -> None:
        """Piece by piece; the end of the stream, of the client, or of the server ends it."""
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
            # The answer has begun, so the server can only break it off: it does when the end is not sent.
            _log.exception("%s %s failed while streaming, audit id %s", request.method, request.path, request.audit_id)
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
        """Bytes both ways until one side closes, or the server ends."""
        task = task_of(request)
        self._running[task] = True
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
            del self._running[task]

    async def converse(self, request: Request, response: Response, headers: list[tuple[bytes, bytes]]) -> None:
        """Frames of a WebSocket until the stream, the client or the server ends it."""
        stream = response.stream
        assert stream is not None
        task = task_of(request)
        self._running[task] = True
        if self._draining:
            self._stop(task)
        try:
            await converse(request.scope["extensions"]["steersman.upgrade"], stream, headers)
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
        """End every long-running stream as if it had nothing more to say, and every one that begins from now on."""
        self._draining = True
        for task, long_running in list(self._running.items()):
            if long_running:
                self._stop(task)


def task_of(request: Request) -> asyncio.Task[Any]:
    """The task that serves the request: the connection tells it."""
    task = request.scope.get("steersman.task") or asyncio.current_task()
    assert task is not None
    return task
