"""Limits of concurrent requests: read-only and mutating ones; long-running ones are exempt.

Upstream: ``WithMaxInFlightLimit``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.errors import too_many_requests
from steersman.apiserver.authn.interface import MASTERS_GROUP

if TYPE_CHECKING:
    from steersman.apiserver.http import Filter, Handler, Request, Response
    from steersman.apiserver.request import RequestInfo

#: Read-only verbs.
READING = frozenset({"get", "list", "head", "options"})
#: Long-running subresources.
_STREAMING = frozenset({"attach", "exec", "proxy", "log", "portforward"})


class InFlight:
    """Number of requests in flight by kind, for the limits and metrics."""

    def __init__(self) -> None:
        self.reading = 0
        self.mutating = 0


def is_long_running(info: RequestInfo) -> bool:
    """Report whether the request is long-running and exempt from limits and timeouts."""
    return info.verb in ("watch", "proxy") or (info.is_resource and info.subresource in _STREAMING)


def max_in_flight(in_flight: InFlight, *, reading_max: int, mutating_max: int) -> Filter:
    """Raise 429 above a limit (0: none). As upstream, ``system:masters`` is exempt, to be able to resolve overload."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            info = request.info
            if info.verb in READING and info.subresource not in _STREAMING:
                if 0 < reading_max <= in_flight.reading:
                    _refuse(request)
                in_flight.reading += 1
                try:
                    return await handler(request)
                finally:
                    in_flight.reading -= 1
            if is_long_running(info):
                return await handler(request)
            if 0 < mutating_max <= in_flight.mutating:
                _refuse(request)
            in_flight.mutating += 1
            try:
                return await handler(request)
            finally:
                in_flight.mutating -= 1

        return filtered

    return wrap


def _refuse(request: Request) -> None:
    if MASTERS_GROUP not in request.user.groups:
        raise too_many_requests("Too many requests, please try again later.", retry_after_seconds=1)
