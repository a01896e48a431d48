"""ASGI application in front of that of an embedded API server: faults, traces and crashes."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.apimachinery.errors import too_large_resource_version
from steersman.apiserver.endpoints.representation import render_status
from steersman.apiserver.filters.max_in_flight import is_long_running
from steersman.apiserver.filters.request_info import PathCache, refine
from steersman.asynckit.clock import RealClock
from steersman.nodes.registration import LEASE_NAMESPACE
from steersman.testing.clock import TimeText
from steersman.testing.faults import COMPONENTS, REASONS, FaultSet
from steersman.testing.links import LINK_KEY
from steersman.testing.reconciles import CURRENT_RECONCILE
from steersman.testing.stale_reads import LateWatch, RevisionTimes, earlier_response, exact_query
from steersman.testing.trace import RequestRecord, RequestTrace, resource_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping
    from random import Random

    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.http import Filter, Handler, Request, Response
    from steersman.apiserver.request import RequestInfo
    from steersman.asynckit.clock import Clock
    from steersman.testing.fault_plan import WatchFault
    from steersman.testing.faults import Fault
    from steersman.testing.links import Link
    from steersman.testing.stale_reads import LaggingRead

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Message, Receive, Send], Awaitable[None]]

#: Key of the ``OpenRequest`` in the ASGI scope, for ``identify``.
_SCOPE_KEY: Final = "steersman.testing.request"
#: Record of the request of this context.
CURRENT_REQUEST: Final[ContextVar[RequestRecord | None]] = ContextVar("current request", default=None)
#: ASGI extension for writing the events of a watch outside of its task.
_PUSH: Final = "steersman.push"
_REAL: Final = RealClock()
_LEASES: Final = "leases.coordination.k8s.io"
_EXPIRED: Final = {
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
    "message": "too old resource version: the watch has expired by a fault",
}  # fmt: skip


def _watches_heartbeats(info: RequestInfo, user_agent: str) -> bool:
    """Report whether a client other than the components watches the Leases of nodes."""
    return (
        info.verb == "watch"
        and resource_text(info) == _LEASES
        and info.namespace in ("", LEASE_NAMESPACE)
        and user_agent.partition("/")[0] not in COMPONENTS.values()
    )


class RequestAborted(ConnectionResetError):  # noqa: N818 — named by the condition
    """The connection of a request is closed without the rest of its response."""


class OpenRequest:
    """Request that is being served."""

    __slots__ = (
        "aborted",
        "info",
        "is_held",
        "is_json_stream",
        "is_long_running",
        "link",
        "record",
        "send",
        "stale_read",
        "started",
        "task",
        "user_agent",
        "watches_heartbeats",
    )

    def __init__(self, info: RequestInfo, record: RequestRecord, task: asyncio.Task[Any], send: Send) -> None:
        self.info: Final = info
        self.user_agent: Final = record.user_agent
        self.record: Final = record
        self.task: Final = task
        self.send = send
        #: True for watches and streams of pods.
        self.is_long_running: Final = is_long_running(info)
        #: True for a watch of Leases by a client other than the components.
        self.watches_heartbeats: Final = _watches_heartbeats(info, record.user_agent)
        #: True once the headers of a streamed response in JSON were sent.
        self.is_json_stream = False
        #: Connection of the component or controller that sent the request; None for the test and other processes.
        self.link: Link | None = None
        #: True while a fault or network latency delays the request by a timer of the cluster's clock.
        self.is_held = False
        #: Decision for a GET or LIST that a lagging watch cache serves.
        self.stale_read: LaggingRead | None = None
        #: Real time of its start.
        self.started: Final = _REAL.monotonic()
        #: True if ``abort`` cancelled it.
        self.aborted = False

    def abort(self) -> None:
        """Close its connection."""
        if not self.aborted:
            self.aborted = True
            self.task.cancel()


class Injector(Protocol):
    """Source of random faults of requests and watches."""

    def select(self, info: RequestInfo, user_agent: str) -> Fault | None:
        """Return the fault of a request; None if it is served."""

    def watch_fault(self, info: RequestInfo, user_agent: str) -> WatchFault | None:
        """Return the fault of the next chunk of a watch; None if it is delivered."""


class ClusterApplication:
    """ASGI 3 application of an embedded cluster, which persists across restarts of the API server.

    An exception that leaves it means that the connection is to be closed: ``ConnectionError``.
    """

    def __init__(self, clock: Clock, dice: Random) -> None:
        #: Application of the running API server; None if connections are refused.
        self.server: Application | None = None
        self.faults: Final = FaultSet(dice)
        self.trace: Final = RequestTrace()
        self._paths: Final = PathCache()
        #: Times of commits, for stale reads.
        self.revision_times: Final = RevisionTimes(clock)
        #: Returns the latency in seconds of a request of a component, or of a piece of its watch; None: no latency.
        self.latency: Callable[[], float] | None = None
        #: Faults of components, applied after ``faults``; None for no other faults.
        self.injector: Injector | None = None
        #: Real time of the latest activity on a socket: a connection, the start or end of a request, or an event; None if none.
        self.latest_outside: float | None = None
        self._clock = clock
        self._time_text: Final = TimeText(clock)
        self._open: dict[OpenRequest, None] = {}

    @property
    def open_requests(self) -> tuple[OpenRequest, ...]:
        """Requests that are being served, oldest first."""
        return tuple(self._open)

    @property
    def in_flight(self) -> list[OpenRequest]:
        """Requests that are being served, without watches and streams."""
        return [request for request in self._open if not request.is_long_running]

    @property
    def needs_heartbeats(self) -> bool:
        """True if each heartbeat of a node matters: they may fail, or a client other than the components watches them."""
        return (
            self.injector is not None
            or any(fault.is_active for fault in self.faults)
            or any(request.watches_heartbeats for request in self._open)
        )

    def note_outside_activity(self) -> None:
        """Record activity of a client in another process."""
        self.latest_outside = _REAL.monotonic()

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
        info, started = self._info_of(scope), self._clock.monotonic()
        request = OpenRequest(info, self._record(info, scope), task, send)
        request.link = scope.get(LINK_KEY)
        scope[_SCOPE_KEY] = request
        self._open[request] = None
        is_outside = scope.get("client") is not None
        if is_outside:
            self.note_outside_activity()
            if request.is_long_running:
                request.send = self._counting(send)
                # Events must pass through ``send``.
                scope["extensions"] = {
                    name: extension for name, extension in scope.get("extensions", {}).items() if name != _PUSH
                }
        try:
            await self._serve(request, scope, receive)
        except asyncio.CancelledError:
            if not request.aborted:
                raise
            task.uncancel()
            raise RequestAborted("connection reset by peer") from None
        finally:
            del self._open[request]
            # Connection, scope, request and ``send`` refer to each other: with the entry they would be cyclic garbage.
            del scope[_SCOPE_KEY]
            request.record.duration_seconds = self._clock.monotonic() - started
            if is_outside:
                self.note_outside_activity()

    def _counting(self, send: Send) -> Send:
        """Return a ``send`` that records events for a client in another process as activity."""

        async def counted(message: Message) -> None:
            await send(message)
            if not is_bookmark(message.get("body", b"")):
                self.note_outside_activity()

        return counted

    def _info_of(self, scope: Message) -> RequestInfo:
        info = self._paths.parse(scope["method"], scope["path"])
        raw_query = scope["query_string"]
        return refine(info, raw_query) if raw_query and info.is_resource and not info.name else info

    def _record(self, info: RequestInfo, scope: Message) -> RequestRecord:
        record = RequestRecord(
            time=self._time_text(),
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
        if self.latency is not None and request.link is not None:
            receive = await self._delayed(request, self.latency(), receive)
        fault = self.faults.select(request.info, request.user_agent)
        if fault is None and self.injector is not None and request.link is not None:
            fault = self.injector.select(request.info, request.user_agent)
        if fault is not None:
            request.record.fault = str(fault)
            if fault.delay_seconds:
                receive = await self._delayed(request, fault.delay_seconds, receive)
            if await self._is_answered_by(fault, request, scope, receive):
                return
        stale = self.faults.select_stale(request.info, request.user_agent)
        if stale is not None and request.info.verb in ("get", "list"):
            receive = await self._lag_behind(stale, request, scope, receive)
        server = self.server
        if server is None:
            raise ConnectionRefusedError("connection refused: the API server is down")
        if fault is not None and fault.respond == "duplicate" and not request.is_long_running:
            receive = await _served_once(server, scope, receive)
        loses_answer = fault is not None and fault.respond == "lose-answer"

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                request.record.code = 0 if loses_answer else message["status"]
                request.is_json_stream = request.is_long_running and (
                    (b"content-type", b"application/json") in message["headers"]
                )
            if loses_answer:
                return
            if request.is_long_running and request.link is not None:
                await self._travel(request, message)
            else:
                await request.send(message)

        if request.info.verb == "watch":
            late = LateWatch(send, clock=self._clock, lag=lambda: self._lag_of(request))
            try:
                await server(scope, receive, late.send)
            finally:
                await late.close()
        else:
            await server(scope, receive, send)
        if loses_answer:
            raise RequestAborted("connection reset by peer: the response was lost")

    async def _is_answered_by(self, fault: Fault, request: OpenRequest, scope: Message, receive: Receive) -> bool:
        """Apply a fault before the request reaches the server; return True if the request is complete. Raises ``ConnectionError``."""
        match fault.respond:
            case int():
                await _respond(request, fault.respond)
                return True
            case "reset":
                raise RequestAborted("connection reset by peer")
            case "timeout":
                request.is_held = True
                while (await receive())["type"] != "http.disconnect":
                    pass
                raise RequestAborted("the client has closed the connection")
        return False

    async def _lag_behind(self, fault: Fault, request: OpenRequest, scope: Message, receive: Receive) -> Receive:
        """Serve a read from the state of a lagging watch cache, once that has the requested version; return ``receive`` for the read."""
        read = self.revision_times.read(scope["query_string"], fault.stale_seconds)
        if read is None:
            return receive
        fault.hits += 1
        request.record.fault = str(fault)
        if read.wait_seconds:
            receive = await self._delayed(request, read.wait_seconds, receive)
        request.stale_read = read
        if read.revision and not read.missing and request.info.verb == "list":
            scope["query_string"] = exact_query(scope["query_string"], read.revision)
        return receive

    def _lag_of(self, watch: OpenRequest) -> float:
        """Return the delay of the next chunk of a watch in seconds."""
        fault = self.faults.select_stale(watch.info, watch.user_agent)
        if fault is None:
            return 0.0
        fault.hits += 1
        watch.record.fault = str(fault)
        return fault.stale_seconds

    async def _travel(self, watch: OpenRequest, message: Message) -> None:
        """Send a chunk of a watch after its delay, or apply its fault."""
        if self.latency is not None:
            await self._clock.sleep(self.latency())
        fault = None
        if self.injector is not None and message.get("body"):
            fault = self.injector.watch_fault(watch.info, watch.user_agent)
        if fault is None:
            await watch.send(message)
            return
        if fault.kind in ("cut_watches", "split_watches"):
            body = message["body"]
            arrived = body[: int(len(body) * fault.part)]
            await watch.send({**message, "body": arrived, "more_body": True})
            if fault.kind == "split_watches":
                await self._clock.sleep(self.latency() if self.latency is not None else 0)
                await watch.send({**message, "body": body[len(arrived) :]})
                return
        elif fault.kind == "end_watches":
            await watch.send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self.expire(watch)
        watch.abort()
        await self._clock.sleep(0)  # the cancellation

    async def _delayed(self, request: OpenRequest, seconds: float, receive: Receive) -> Receive:
        """Wait; return a ``receive`` that repeats the body. Raises ``RequestAborted`` if the client disconnects meanwhile."""
        body = await _body_messages(receive)
        request.is_held = True
        loop = asyncio.get_running_loop()
        disconnect = loop.create_task(_next_message(receive), name="delayed request: disconnect")
        sleep = loop.create_task(self._clock.sleep(seconds), name="delayed request")
        try:
            await asyncio.wait([disconnect, sleep], return_when=asyncio.FIRST_COMPLETED)
            if disconnect.done():
                raise RequestAborted("the client has closed the connection")
        finally:
            request.is_held = False
            sleep.cancel()
            disconnect.cancel()
        return _replaying(body, receive)

    # Watches

    def watches(self, pattern: Fault) -> list[OpenRequest]:
        """Return the open watches that match a fault."""
        return [
            request
            for request in self._open
            if request.info.verb == "watch" and pattern.matches_request(request.info, request.user_agent)
        ]

    async def expire(self, watch: OpenRequest) -> None:
        """End a watch as if its events were compacted: by an ``ERROR`` event with code 410. A watch in another encoding than
        JSON ends without it.
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


def is_bookmark(body: bytes) -> bool:
    """Report whether a chunk of a watch is one bookmark, in JSON or protobuf; bookmarks cause no work of clients."""
    if body.startswith(b'{"type":"BOOKMARK"'):
        return body.find(b"\n") == len(body) - 1
    return body[4:14] == b"\x0a\x08BOOKMARK" and int.from_bytes(body[:4], "big") == len(body) - 4


def stale_reads(registry: Callable[[], Registry]) -> Filter:
    """Return the filter of the API server that serves reads like a lagging watch cache."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            entry: OpenRequest | None = request.scope.get(_SCOPE_KEY)
            read = None if entry is None else entry.stale_read
            if read is None:
                return await handler(request)
            if read.missing:
                return render_status(request, too_large_resource_version(read.missing, read.revision))
            response = await handler(request)
            if read.revision and request.info.verb == "get":
                return await earlier_response(registry(), request, response, read.revision)
            return response

        return filtered

    return wrap


async def _next_message(receive: Receive) -> Message:
    return await receive()


async def _body_messages(receive: Receive) -> list[Message]:
    """Receive the whole body of a request."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())
    return messages


def _replaying(messages: Iterable[Message], receive: Receive) -> Receive:
    """Return a ``receive`` that repeats the messages before those of the client."""
    remaining = deque(messages)

    async def replay() -> Message:
        return remaining.popleft() if remaining else await receive()

    return replay


async def _served_once(server: Application, scope: Message, receive: Receive) -> Receive:
    """Serve a request without a response to its client; return a ``receive`` that repeats it."""
    body = await _body_messages(receive)
    await server(dict(scope), _replaying(body, receive), _drop)
    return _replaying(body, receive)


async def _drop(message: Message) -> None:
    """Send nothing."""


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


def _user_agent_of(scope: Message) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"user-agent"), "")
