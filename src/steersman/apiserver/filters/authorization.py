"""Authorization filter. Upstream: ``WithAuthorization``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import plain_error
from steersman.apimachinery.gotext import quote
from steersman.apiserver.authz.interface import refusal
from steersman.apiserver.authz.pending import with_decisions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.authz.interface import Authorizer, Decision
    from steersman.apiserver.filters.access_metrics import AccessMetrics
    from steersman.apiserver.http import Filter, Handler, Request, Response
    from steersman.apiserver.request import Annotations


_REASON: Final = "authorization.k8s.io/reason"


def note(annotations: Annotations, decision: Decision) -> None:
    """Add the audit annotations of a decision."""
    annotations.add("authorization.k8s.io/decision", "allow" if decision.allowed else "forbid")
    annotations.add(_REASON, decision.reason)


def authorization(
    authorizer: Authorizer,
    metrics: AccessMetrics,
    *,
    waits: bool = False,
    monotonic: Callable[[], float] = time.perf_counter,
) -> Filter:
    """Raise 403 unless the authorizer allows the request, 500 if an error kept it from allowing.

    ``waits``: the authorizer may raise ``PendingDecisionError``.
    """
    authorize = authorizer.authorize

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            started = monotonic()
            decision = authorize(request.user, request.info)
            metrics.authorized(monotonic() - started, is_allowed=decision.allowed)
            if request.annotations is not None:
                note(request.annotations, decision)
            if not decision.allowed:
                raise refusal(request.user, request.info, decision.reason)
            return handler(request)

        async def filtered_with_webhooks(request: Request) -> Response:
            started = monotonic()
            decision = await with_decisions(authorize, request.user, request.info)
            is_error = bool(decision.error) and not decision.allowed
            metrics.authorized(monotonic() - started, is_allowed=decision.allowed, is_error=is_error)
            if is_error:
                if request.annotations is not None:
                    request.annotations.add(_REASON, "internal error")
                raise plain_error(f"Internal Server Error: {quote(request.path)}: {decision.error}")
            if request.annotations is not None:
                note(request.annotations, decision)
            if not decision.allowed:
                raise refusal(request.user, request.info, decision.reason)
            return await handler(request)

        return filtered_with_webhooks if waits else filtered

    return wrap
