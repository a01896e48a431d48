"""Rejection of new requests during a shutdown (``--shutdown-send-retry-after``).

Upstream: ``WithRetryAfter`` (``staging/src/k8s.io/apiserver/pkg/server/filters/with_retry_after.go``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.http import Filter, Handler, Request

#: Probes and scrapes are served until the end.
_EXEMPT_PATHS: Final = ("/readyz", "/livez", "/healthz", "/metrics")
#: User agent of the server's own requests, which are not authenticated yet.
_OWN_AGENT: Final = b"kube-apiserver/"


def retry_after(is_rejecting: Callable[[], bool]) -> Filter:
    """Answer with 429 and ``Connection: close`` while ``is_rejecting``."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            if not is_rejecting() or request.path.startswith(_EXEMPT_PATHS):
                return await handler(request)
            if request.first_headers.get(b"user-agent", b"").startswith(_OWN_AGENT):
                return await handler(request)
            return Response(
                429,
                b"The apiserver is shutting down, please try again later.\n",
                content_type=b"text/plain; charset=utf-8",
                headers=[(b"connection", b"close"), (b"retry-after", b"5"), (b"x-content-type-options", b"nosniff")],
            )

        return filtered

    return wrap
