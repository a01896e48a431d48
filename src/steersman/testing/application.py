"""ASGI application in front of an embedded API server's own: the place of faults, traces and crashes."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.apiserver.filters.max_in_flight import is_long_running
from steersman.apiserver.filters.request_info import parse, refine
from steersman.asynckit.clock import RealClock
from steersman.testing.faults import REASONS, FaultSet
from steersman.testing.reconciles import CURRENT_RECONCILE
from steersman.testing.trace import RequestRecord, RequestTrace, resource_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from random import Random

    from steersman.apiserver.http import Handler, Request, Response
    from steersman.apiserver.request import RequestInfo
    from steersman.asynckit.clock import Clock
    from steersman.testing.faults import Fault

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Message, Receive, Send], Awaitable[None]]

#: Key of the ASGI scope under which a request's ``OpenRequest`` is found by ``identify``.
_SCOPE_KEY: Final = "steersman.testing.request"
#: Record of the request that is served in this context.
CURRENT_REQUEST: Final[ContextVar[RequestRecord | None]] = ContextVar("current request", default=None)
_SIMULATED_KEY: Final = "steersman.testing.simulated"
_REAL: Final = RealClock()
_EXPIRED: Final = {
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
    "message": "too old resource version: the watch has expired by a fault",
}  # fmt: skip


class RequestAborted(ConnectionResetError):  # noqa: N818 — named by the condition
    """The connection of a request is closed without the rest of its response."""


class OpenRequest:
    """One request that is being served."""

    __slots__ = (
        "aborted",
        "info",
        "is_json_stream",
        "is_long_running",
        "is_simulated",
        "record",
        "send",
        "task",
        "user_agent",
    )

    def __init__(self, info: RequestInfo, record: RequestRecord, task: asyncio.Task[Any], send: Send) -> None:
        self.info: Final = info
        self.user_agent: Final = record.user_agent
        self.record: Final = record
        self.task: Final = task
        self.send: Final = send
        #: True for watches and streams of pods.
        self.is_long_running: Final = is_long_running(info)
        #: True once the headers of a streamed response in JSON were sent.
        self.is_json_stream = False
        #: True if it came through ``ClusterApplication.simulated``.
        self.is_simulated = False
        #: True if ``abort`` cancelled it.
        self.aborted = False

    def abort(self) -> None:
        """Close its connection."""
        if not self.aborted:
            self.aborted = True
            self.task.cancel()


class Injector(Protocol):
    """Source of faults that are decided for each request."""

    def select(self, info: RequestInfo, user_agent: str) -> Fault | None:
        """Return the fault of a request; None: it is served."""

    def cuts(self, info: RequestInfo, user_agent: str) -> bool:
        """Report whether the connection of a watch breaks before its next piece."""


class ClusterApplication:
    """ASGI 3 application of an embedded cluster. It stays while API servers come and go behind it.

    An exception that leaves it means that the connection is to be closed: ``ConnectionError``.
    """

    def __init__(self, clock: Clock, dice: Random) -> None:
        #: Application of the running API server; None: connections are refused.
        self.server: Application | None = None
        self.faults: Final = FaultSet(dice)
        self.trace: Final = RequestTrace()
        #: Returns what is added to the query of a list that is answered from the state of so many seconds ago.
        self.stale_query: Callable[[RequestInfo, float], bytes | None] = _no_query
        #: Returns the seconds that a request of a component, or a piece of its watch, travels; None: they arrive at once.
        self.latency: Callable[[], float] | None = None
        #: Decides on faults of components after ``faults``; None: there are no others.
        self.injector: Injector | None = None
        #: Real time of the latest start or end of a request that came through a socket; None: there was none.
        self.latest_outside: float | None = None
        self._clock = clock
        self._open: dict[OpenRequest, None] = {}

    @property
    def open_requests(self) -> tuple[OpenRequest, ...]:
        """Requests that are being served, oldest first."""
        return tuple(self._open)

    @property
    def in_flight(self) -> list[OpenRequest]:
        """Requests that are being served, without watches and streams."""
        return [request for request in self._open if not request.is_long_running]

    def abort_all(self) -> None:
        """Close all connections."""
        for request in self.open_requests:
            request.abort()

    async def simulated(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request of a component: with ``latency`` and the faults of ``injector``."""
        scope[_SIMULATED_KEY] = True
        await self(scope, receive, send)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request. Raises ``ConnectionError`` if its connection is to be closed."""
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} here, only http")
        task = asyncio.current_task()
        assert task is not None
        info, started = _info_of(scope), self._clock.monotonic()
        request = OpenRequest(info, self._record(info, scope), task, send)
        request.is_simulated = scope.get(_SIMULATED_KEY, False)
        scope[_SCOPE_KEY] = request
        self._open[request] = None
        is_outside = scope.get("client") is not None
        if is_outside:
            self.latest_outside = _REAL.monotonic()
        try:
            await self._serve(request, scope, receive)
        except asyncio.CancelledError:
            if not request.aborted:
                raise
            task.uncancel()
            raise RequestAborted("connection reset by peer") from None
        finally:
            del self._open[request]
            request.record.duration_seconds = self._clock.monotonic() - started
            if is_outside:
                self.latest_outside = _REAL.monotonic()

    def _record(self, info: RequestInfo, scope: Message) -> RequestRecord:
        record = RequestRecord(
            time=self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            user_agent=_user_agent_of(scope),
            verb=info.verb,
            resource=resource_text(info),
            subresource=info.subresource if info.is_resource else "",
            namespace=info.namespace if info.is_resource else "",
            name=info.name if info.is_resource else "",
            path=scope["path"],
            reconcile=CURRENT_RECONCILE.get(),
        )
        self.trace.add(record)
        return record

    async def _serve(self, request: OpenRequest, scope: Message, receive: Receive) -> None:
        if self.latency is not None and request.is_simulated:
            receive = await self._delayed(self.latency(), receive)
        fault = self.faults.select(request.info, request.user_agent)
        if fault is None and self.injector is not None and request.is_simulated:
            fault = self.injector.select(request.info, request.user_agent)
        if fault is not None:
            request.record.fault = str(fault)
            if fault.delay_seconds:
                receive = await self._delayed(fault.delay_seconds, receive)
            if await self._is_answered_by(fault, request, scope, receive):
                return
        server = self.server
        if server is None:
            raise ConnectionRefusedError("connection refused: the API server is down")
        loses_answer = fault is not None and fault.respond == "lose-answer"

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                request.record.code = 0 if loses_answer else message["status"]
                request.is_json_stream = request.is_long_running and (
                    (b"content-type", b"application/json") in message["headers"]
                )
            if loses_answer:
                return
            if request.is_long_running and request.is_simulated:
                await self._travel(request)
            await request.send(message)

        await server(scope, receive, send)
        if loses_answer:
            raise RequestAborted("connection reset by peer: the response was lost")

    async def _is_answered_by(self, fault: Fault, request: OpenRequest, scope: Message, receive: Receive) -> bool:
        """Apply a fault before the server sees the request; return True if that was all. Raises ``ConnectionError``."""
        if fault.stale_seconds and (query := self.stale_query(request.info, fault.stale_seconds)) is not None:
            scope["query_string"] = b"&".join(filter(None, (scope["query_string"], query)))
        match fault.respond:
            case int():
                await _respond(request, fault.respond)
                return True
            case "reset":
                raise RequestAborted("connection reset by peer")
            case "timeout":
                while (await receive())["type"] != "http.disconnect":
                    pass
                raise RequestAborted("the client has closed the connection")
        return False

    async def _travel(self, watch: OpenRequest) -> None:
        """Delay a piece of a watch, or break its connection."""
        if self.latency is not None:
            await self._clock.sleep(self.latency())
        if self.injector is not None and self.injector.cuts(watch.info, watch.user_agent):
            watch.abort()
            await self._clock.sleep(0)  # the cancellation

    async def _delayed(self, seconds: float, receive: Receive) -> Receive:
        """Wait; return a ``receive`` that has the body again. Raises ``RequestAborted`` if the client leaves meanwhile."""
        messages = deque([await receive()])
        while messages[-1].get("more_body"):
            messages.append(await receive())
        loop = asyncio.get_running_loop()
        gone = loop.create_task(_next_message(receive), name="delayed request: disconnect")
        sleep = loop.create_task(self._clock.sleep(seconds), name="delayed request")
        try:
            await asyncio.wait([gone, sleep], return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                raise RequestAborted("the client has closed the connection")
        finally:
            sleep.cancel()
            gone.cancel()

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        return replay

    # Watches

    def watches(self, pattern: Fault) -> list[OpenRequest]:
        """Return the open watches that match a fault."""
        return [
            request
            for request in self._open
            if request.info.verb == "watch" and pattern.matches_request(request.info, request.user_agent)
        ]

    async def expire(self, watch: OpenRequest) -> None:
        """End a watch as a server does that no longer keeps the events: by an ``ERROR`` event with code 410.

        A watch in another encoding than JSON ends without it.
        """
        if watch.is_json_stream and not watch.aborted:
            event = msgspec.json.encode({"type": "ERROR", "object": _EXPIRED}) + b"\n"
            await watch.send({"type": "http.response.body", "body": event, "more_body": True})
        watch.abort()


def identify(handler: Handler) -> Handler:
    """Filter of the API server that records the user of each request, after impersonation."""

    def filtered(request: Request) -> Awaitable[Response]:
        entry: OpenRequest | None = request.scope.get(_SCOPE_KEY)
        if entry is not None:
            entry.record.user = request.user.name
            entry.record.groups = request.user.groups
            CURRENT_REQUEST.set(entry.record)
        return handler(request)

    return filtered


async def _next_message(receive: Receive) -> Message:
    return await receive()


async def _respond(request: OpenRequest, code: int) -> None:
    """Send the ``Status`` of an error."""
    request.record.code = code
    status = {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": REASONS[code], "code": code,
        "message": f"a fault of the test kit responds {code}",
    }  # fmt: skip
    headers = [(b"content-type", b"application/json")]
    if code == 429:
        status["details"] = {"retryAfterSeconds": 1}
        headers.append((b"retry-after", b"1"))
    body = msgspec.json.encode(status)
    headers.append((b"content-length", b"%d" % len(body)))
    await request.send({"type": "http.response.start", "status": code, "headers": headers})
    await request.send({"type": "http.response.body", "body": body})


def _no_query(info: RequestInfo, seconds: float) -> None:
    """Leave reads as they are."""


def _info_of(scope: Message) -> RequestInfo:
    info = parse(scope["method"], scope["path"])
    raw_query = scope["query_string"]
    return refine(info, raw_query) if raw_query and info.is_resource and not info.name else info


def _user_agent_of(scope: Message) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"user-agent"), "")
