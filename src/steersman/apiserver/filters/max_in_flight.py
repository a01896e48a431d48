"""Limits of concurrent requests: read-only and mutating ones; long-running ones are exempt.

Upstream: ``WithMaxInFlightLimit``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.authn.interface import MASTERS_GROUP
from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from steersman.apiserver.http import Filter, Handler, Request
    from steersman.apiserver.request import RequestInfo

#: Read-only verbs.
_READING = frozenset({"get", "list", "head", "options"})
#: Long-running subresources.
_STREAMING = frozenset({"attach", "exec", "proxy", "log", "portforward"})
#: Prefix of paths of long-running profiles.
_PROFILES = "/debug/pprof/"


class InFlight:
    """Number of requests in flight by kind, for the limits and metrics."""

    def __init__(self) -> None:
        self.reading = 0
        self.mutating = 0
        #: Requests in the queues of priority and fairness.
        self.queued_reading = 0
        self.queued_mutating = 0

    def count_queued(self, info: RequestInfo, change: int) -> None:
        """Count a request that enters (1) or leaves (-1) a queue."""
        if is_read(info):
            self.queued_reading += change
        else:
            self.queued_mutating += change


def is_read(info: RequestInfo) -> bool:
    """Report whether priority and fairness count the request as read-only."""
    return info.verb in _READING or info.verb == "watch"


def is_long_running(info: RequestInfo) -> bool:
    """Report whether the request is long-running and exempt from limits and timeouts."""
    if info.verb in ("watch", "proxy"):
        return True
    return info.subresource in _STREAMING if info.is_resource else info.path.startswith(_PROFILES)


def max_in_flight(in_flight: InFlight, *, reading_max: int, mutating_max: int) -> Filter:
    """Respond with 429 above a limit (0: none). As upstream, ``system:masters`` is exempt, to be able to resolve overload."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            info = request.info
            if info.verb in _READING and info.subresource not in _STREAMING:
                if 0 < reading_max <= in_flight.reading and not _is_exempt(request):
                    return too_many_requests(1)
                in_flight.reading += 1
                try:
                    return await handler(request)
                finally:
                    in_flight.reading -= 1
            if is_long_running(info):
                return await handler(request)
            if 0 < mutating_max <= in_flight.mutating and not _is_exempt(request):
                return too_many_requests(1)
            in_flight.mutating += 1
            try:
                return await handler(request)
            finally:
                in_flight.mutating -= 1

        return filtered

    return wrap


class OverloadResponse(Response):
    """Response to a request that was not executed because the server is overloaded."""

    __slots__ = ()


def too_many_requests(retry_after_seconds: int) -> OverloadResponse:
    """Return the response of an overloaded server, which is no Status: the request was not decoded.

    Upstream: ``tooManyRequests`` of ``pkg/server/filters/maxinflight.go``.
    """
    return OverloadResponse(
        429,
        b"Too many requests, please try again later.\n",
        content_type=b"text/plain; charset=utf-8",
        headers=[(b"retry-after", b"%d" % retry_after_seconds), (b"x-content-type-options", b"nosniff")],
    )


def _is_exempt(request: Request) -> bool:
    return MASTERS_GROUP in request.user.groups
