"""Log of requests, enabled by ``-v 3``: one line at the end of each response, including watches.

Upstream: staging/src/k8s.io/apiserver/pkg/server/httplog/httplog.go. ``user`` is an addition to its keys.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.durations import format_duration
from steersman.asynckit.structured_logging import V3, log_fields

if TYPE_CHECKING:
    from steersman.apiserver.http import Request
    from steersman.asynckit.clock import Clock

_log: Final = logging.getLogger(__name__)

_APPLY: Final = b"application/apply-patch"
_CONNECT: Final = frozenset({"attach", "exec", "portforward", "proxy"})


class RequestLog:
    """Request log of one server."""

    def __init__(self, clock: Clock, *, log: logging.Logger = _log) -> None:
        self._clock = clock
        self._log = log

    @classmethod
    def if_enabled(cls, clock: Clock) -> RequestLog | None:
        """Return a log if the verbosity enables it."""
        return cls(clock) if _log.isEnabledFor(V3) else None

    def now(self) -> float:
        """Return the time base of latencies."""
        return self._clock.monotonic()

    def done(self, request: Request, code: int, received: float, *, hijacked: bool = False) -> None:
        """Log a request received at ``received`` (see ``now``) and its response ``code``."""
        fields: dict[str, Any] = {
            "verb": normalized_verb(request),
            "URI": request_uri(request),
            "latency": format_duration(self.now() - received),
            "userAgent": request.header(b"user-agent"),
            "audit-ID": request.audit_id,
            "srcIP": _source(request.scope.get("client")),
        }
        user = getattr(request, "user", None)
        if user is not None:
            fields["user"] = user.name
        if hijacked:
            fields["hijacked"] = True
        else:
            fields["resp"] = code
        log_fields(self._log, V3, "HTTP", fields)


def normalized_verb(request: Request) -> str:
    """Return the method, or ``LIST``, ``WATCH``, ``APPLY``, ``CONNECT`` instead of it. Upstream: ``NormalizedVerb``."""
    info = getattr(request, "info", None)
    if info is None:
        return request.method
    if info.is_resource and info.subresource in _CONNECT:
        return "CONNECT"
    if info.verb in ("list", "watch"):
        return str(info.verb).upper()
    if request.method == "PATCH" and request.first_headers.get(b"content-type", b"").startswith(_APPLY):
        return "APPLY"
    return "GET" if request.method == "HEAD" else request.method


def request_uri(request: Request) -> str:
    """Return path and query as received."""
    path = (request.scope.get("raw_path") or request.path.encode()).decode("latin-1")
    return f"{path}?{request.raw_query.decode('latin-1')}" if request.raw_query else path


def _source(client: tuple[str, int] | None) -> str:
    if client is None:
        return ""
    host, port = client
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
