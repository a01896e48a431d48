"""ASGI application in front of an embedded API server's own: the place of faults, traces and crashes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.filters.max_in_flight import is_long_running
from steersman.apiserver.filters.request_info import parse, refine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    from steersman.apiserver.request import RequestInfo

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Message, Receive, Send], Awaitable[None]]


class RequestAborted(ConnectionResetError):  # noqa: N818 — named by the condition
    """The connection of a request is closed without the rest of its response."""


class OpenRequest:
    """One request that is being served."""

    __slots__ = ("aborted", "info", "is_long_running", "task", "user_agent")

    def __init__(self, info: RequestInfo, user_agent: str, task: asyncio.Task[Any]) -> None:
        self.info: Final = info
        self.user_agent: Final = user_agent
        self.task: Final = task
        #: True for watches and streams of pods.
        self.is_long_running: Final = is_long_running(info)
        #: True if ``abort`` cancelled it.
        self.aborted = False

    def abort(self) -> None:
        """Close its connection."""
        if not self.aborted:
            self.aborted = True
            self.task.cancel()


class ClusterApplication:
    """ASGI 3 application of an embedded cluster. It stays while API servers come and go behind it.

    An exception that leaves it means that the connection is to be closed: ``ConnectionError``.
    """

    def __init__(self) -> None:
        #: Application of the running API server; None: connections are refused.
        self.server: Application | None = None
        self._open: dict[OpenRequest, None] = {}

    @property
    def open_requests(self) -> Iterable[OpenRequest]:
        """Requests that are being served, oldest first."""
        return tuple(self._open)

    @property
    def in_flight(self) -> int:
        """Number of requests being served, without watches and streams."""
        return sum(not request.is_long_running for request in self._open)

    def abort_all(self) -> None:
        """Close all connections."""
        for request in self.open_requests:
            request.abort()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request. Raises ``ConnectionError`` if its connection is to be closed."""
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} here, only http")
        task = asyncio.current_task()
        assert task is not None
        request = OpenRequest(_info_of(scope), _user_agent_of(scope), task)
        self._open[request] = None
        try:
            await self._serve(request, scope, receive, send)
        except asyncio.CancelledError:
            if not request.aborted:
                raise
            task.uncancel()
            raise RequestAborted("connection reset by peer") from None
        finally:
            del self._open[request]

    async def _serve(self, request: OpenRequest, scope: Message, receive: Receive, send: Send) -> None:
        server = self.server
        if server is None:
            raise ConnectionRefusedError("connection refused: the API server is down")
        await server(scope, receive, send)


def _info_of(scope: Message) -> RequestInfo:
    info = parse(scope["method"], scope["path"])
    raw_query = scope["query_string"]
    return refine(info, raw_query) if raw_query and info.is_resource and not info.name else info


def _user_agent_of(scope: Message) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"user-agent"), "")
