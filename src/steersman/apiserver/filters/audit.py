"""Audit filter: records requests by the audit policy. Upstream: ``WithAudit``, ``WithFailedAuthenticationAudit``.

Part of the chain only if a policy and a sink are configured. Events, policy and logs are in ``apiserver/audit``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.errors import StatusError, internal_error
from steersman.apiserver.audit.bodies import RequestBody, ResponseBody
from steersman.apiserver.audit.event import (
    TRUNCATED_KEY,
    AuditEvent,
    decode_status,
    is_status,
    json_line,
    legacy_line,
    truncated,
)
from steersman.apiserver.audit.log import AuditLog  # noqa: TC001 — msgspec reads the fields' types
from steersman.apiserver.audit.policy import PANIC, REQUEST_RECEIVED, RESPONSE_COMPLETE, RESPONSE_STARTED
from steersman.apiserver.filters.max_in_flight import is_long_running
from steersman.apiserver.observability.metrics import Family, counter
from steersman.apiserver.request import Annotations, AuditLevel, UserInfo
from steersman.asynckit.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence
    from datetime import datetime

    from steersman.apimachinery.errors import StatusError as Refusal
    from steersman.apiserver.audit.policy import Policy
    from steersman.apiserver.http import Filter, Handler, Request, Response

#: Maximum size of a recorded streamed response; larger ones are omitted, with an annotation.
_RECORDED_BYTES_MAX: Final = 16 * 1024 * 1024
_NO_USER: Final = UserInfo("")
_LEVEL_LABELS: Final = {
    AuditLevel.NONE: "None",
    AuditLevel.METADATA: "Metadata",
    AuditLevel.REQUEST: "Request",
    AuditLevel.REQUEST_RESPONSE: "RequestResponse",
}


class AuditSink(msgspec.Struct, frozen=True, kw_only=True):
    """Audit log and its format."""

    #: ``log`` or ``webhook``.
    name: str
    log: AuditLog
    legacy: bool = False
    #: Events above this size lose their objects; 0: no limit.
    size_max_bytes: int = 0

    def line(self, tree: dict[str, Any]) -> bytes:
        """Encode an event; empty if it exceeds the limit even without objects."""
        event = truncated(tree, size_max_bytes=self.size_max_bytes) if self.size_max_bytes else tree
        if event is None:
            return b""
        return legacy_line(event) if self.legacy else json_line(event)


class Auditor:
    """Audit policy, sinks and counters of one server."""

    def __init__(self, policy: Policy, sinks: Sequence[AuditSink], *, now: Callable[[], datetime]) -> None:
        self.policy: Final = policy
        self.sinks: Final = sinks
        self.now: Final = now
        self._tasks: Final = Supervisor("audit")
        self._events = 0
        self._rejected = 0
        self._levels: Final = dict.fromkeys(AuditLevel, 0)

    def start(self) -> None:
        """Start the writers."""
        for sink in self.sinks:
            self._tasks.start(sink.name, sink.log.run())

    async def close(self) -> None:
        """Flush and close all sinks."""
        for sink in self.sinks:
            await sink.log.close()
        await self._tasks.close()

    def begin(self, request: Request, user: UserInfo) -> AuditEvent | None:
        """Return the event of a request; None if the policy omits it."""
        outcome = self.policy.evaluate(user, request.info)
        self._levels[outcome.level] += 1
        if outcome.level is AuditLevel.NONE:
            request.annotations = None
            return None
        if request.annotations is None:
            request.annotations = Annotations()
        request.annotations.level = outcome.level
        return AuditEvent(request, user, outcome, received=self.now())

    async def receive(self, event: AuditEvent) -> None:
        """Record the stage RequestReceived. Raises 500 if a strict log fails."""
        for log, line in self._lines(event, REQUEST_RECEIVED):
            if not await log.record(line) and log.strict:
                self._rejected += 1
                raise internal_error("failed to store audit event")

    async def record(self, event: AuditEvent, stage: str) -> None:
        """Record a later stage."""
        for log, line in self._lines(event, stage):
            await log.record(line)

    def post(self, event: AuditEvent, stage: str) -> None:
        """Queue a later stage without waiting."""
        for log, line in self._lines(event, stage):
            log.post(line)

    def _lines(self, event: AuditEvent, stage: str) -> list[tuple[AuditLog, bytes]]:
        """Encode the event for each sink; empty if the policy omits the stage."""
        if event.omits(stage):
            return []
        tree = event.tree(stage, now=self.now())
        self._events += 1
        return [(sink.log, line) for sink in self.sinks if (line := sink.line(tree))]

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        lost = [((("plugin", sink.name),), sink.log.failed + sink.log.dropped) for sink in self.sinks]
        return [
            counter("apiserver_audit_event_total", "Audit events made.", [((), self._events)]),
            counter("apiserver_audit_requests_rejected_total", "Requests refused unrecorded.", [((), self._rejected)]),
            counter("apiserver_audit_error_total", "Audit events lost.", lost),
            counter(
                "apiserver_audit_level_total",
                "Requests by how much of them is recorded.",
                [((("level", _LEVEL_LABELS[level]),), count) for level, count in self._levels.items()],
            ),
        ]


def failed_authentication(auditor: Auditor) -> Filter:
    """Record requests that fail authentication, and let authenticators annotate. Wraps the authentication filter."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            request.annotations = Annotations()
            try:
                return await handler(request)
            except StatusError as error:
                if error.code == 401 and not hasattr(request, "user"):
                    await _record_failed_authentication(auditor, request)
                raise

        return filtered

    return wrap


async def _record_failed_authentication(auditor: Auditor, request: Request) -> None:
    event = auditor.begin(request, _NO_USER)
    if event is None:
        return
    methods = _attempted_methods(request)
    message = (
        f"Authentication failed, attempted: {methods}" if methods else "Authentication failed, no credentials provided"
    )
    event.answered(401, {"message": message})
    await auditor.record(event, RESPONSE_STARTED)


def _attempted_methods(request: Request) -> str:
    scheme, token, _ = request.header(b"authorization").strip().partition(" ")
    methods: list[str] = [name for name in ("basic", "bearer") if token and scheme.lower() == name]
    if request.scope.get("extensions", {}).get("tls", {}).get("client_cert_chain"):
        methods.append("x509")
    return ",".join(methods)


def audit(auditor: Auditor) -> Filter:
    """Record authenticated requests. Raises 500 if a strict log fails."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            event = auditor.begin(request, request.user)
            if event is None:
                return await handler(request)
            await auditor.receive(event)
            try:
                response = await handler(request)
            except StatusError as error:
                _record_error(event, request, error)
                await auditor.record(event, RESPONSE_COMPLETE)
                raise
            except asyncio.CancelledError:
                event.answered(504, {"status": "Failure", "reason": "Timeout", "message": "the request took too long"})
                auditor.post(event, RESPONSE_COMPLETE)
                raise
            except Exception as error:
                _record_request_body(event, request)
                message = f"APIServer panic'd: {error!r}"
                event.answered(500, {"status": "Failure", "reason": "InternalError", "message": message})
                await auditor.record(event, PANIC)
                raise
            await _record_response(auditor, event, request, response)
            return response

        return filtered

    return wrap


def _record_request_body(event: AuditEvent, request: Request) -> None:
    """Record the request body, if a handler has read it."""
    if request._body:
        media_type = request.header(b"content-type").partition(";")[0].strip()
        event.request_body = RequestBody(request._body, media_type or "application/json")


def _record_error(event: AuditEvent, request: Request, error: Refusal) -> None:
    _record_request_body(event, request)
    event.answered(error.code, error.status)
    if event.level >= AuditLevel.REQUEST_RESPONSE:
        event.response_body = ResponseBody([msgspec.json.encode(error.status)], "application/json", gzipped=False)


async def _record_response(auditor: Auditor, event: AuditEvent, request: Request, response: Response) -> None:
    """Record a response: complete ones now, streams at their end."""
    _record_request_body(event, request)
    whole = response.stream is None
    event.answered(response.code, decode_status(response.body) if whole and is_status(response.body) else None)
    if is_long_running(request.info):
        await auditor.record(event, RESPONSE_STARTED)
    elif event.level >= AuditLevel.REQUEST_RESPONSE:
        _record_response_body(event, response)
    if whole:
        await auditor.record(event, RESPONSE_COMPLETE)
        return
    before = response.on_end

    def end() -> None:
        if before is not None:
            before()
        auditor.post(event, RESPONSE_COMPLETE)

    response.on_end = end


def _record_response_body(event: AuditEvent, response: Response) -> None:
    headers = dict(response.headers)
    media_type = headers.get(b"content-type", b"").partition(b";")[0].decode("latin-1")
    body = ResponseBody([response.body], media_type, gzipped=headers.get(b"content-encoding") == b"gzip")
    event.response_body = body
    if response.stream is not None:
        response.stream = _recorded(response.stream, body, event)


async def _recorded(stream: AsyncIterator[bytes], body: ResponseBody, event: AuditEvent) -> AsyncIterator[bytes]:
    """Yield the pieces and record them up to the limit."""
    size = 0
    try:
        async for piece in stream:
            size += len(piece)
            if size <= _RECORDED_BYTES_MAX:
                body.pieces.append(piece)
            elif event.response_body is not None:
                body.pieces.clear()
                event.response_body = None
                event.notes.add(TRUNCATED_KEY, "true")
            yield piece
    finally:
        aclose = getattr(stream, "aclose", None)
        if aclose is not None:
            await aclose()
