"""Ends of HTTP/2 connections after some requests (``--goaway-chance``), so that clients of a load balancer spread.

Upstream: ``WithProbabilisticGoaway`` (``staging/src/k8s.io/apiserver/pkg/server/filters/goaway.go``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.http import Filter, Handler, Request, Response


def probabilistic_goaway(chance: float, random: Callable[[], float]) -> Filter:
    """Respond with ``Connection: close`` to a fraction of the requests by HTTP/2: the connection ends after those in flight."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            response = await handler(request)
            if request.scope["http_version"] == "2" and random() < chance:
                response.headers = [*response.headers, (b"connection", b"close")]
            return response

        return filtered

    return wrap
