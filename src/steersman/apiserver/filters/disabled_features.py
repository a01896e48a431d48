"""Effects of feature gates that are switched off, on requests for resources of this server.

Upstream: ``APIResponseCompression`` of ``responsewriters``, ``WatchList`` of ``internalversion/validation``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import field
from steersman.apimachinery.errors import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apiserver.http import Handler, Request, Response

_NOT_OLDER_THAN = "NotOlderThan"


def with_disabled_features(handler: Handler, gates: Mapping[str, bool]) -> Handler:
    """Return the handler of resources for the gates; ``handler`` itself unless one is switched off."""
    if not gates.get("APIResponseCompression", True):
        handler = _without_compression(handler)
    if not gates.get("WatchList", True):
        handler = _without_watch_list(handler)
    return handler


def _without_compression(handler: Handler) -> Handler:
    """Serve responses as if clients accepted no compressed ones."""

    async def filtered(request: Request) -> Response:
        request.first_headers.pop(b"accept-encoding", None)
        return await handler(request)

    return filtered


def _without_watch_list(handler: Handler) -> Handler:
    """Reject ``sendInitialEvents`` of watches with 422: client-go lists instead."""

    async def filtered(request: Request) -> Response:
        if request.info.verb == "watch" and "sendInitialEvents" in request.query:
            errors = []
            if request.param("resourceVersionMatch") != _NOT_OLDER_THAN:
                detail = f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER_THAN}"
                errors.append(field.forbidden("resourceVersionMatch", detail))
            detail = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            raise invalid("ListOptions.meta.k8s.io", "", [*errors, field.forbidden("sendInitialEvents", detail)])
        return await handler(request)

    return filtered
