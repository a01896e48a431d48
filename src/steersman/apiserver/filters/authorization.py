"""Authorization filter. Upstream: ``WithAuthorization``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from steersman.apiserver.authz.interface import refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.authz.interface import Authorizer, Decision
    from steersman.apiserver.filters.access_metrics import AccessMetrics
    from steersman.apiserver.http import Filter, Handler, Request, Response
    from steersman.apiserver.request import Annotations


def note(annotations: Annotations, decision: Decision) -> None:
    """Add the audit annotations of a decision."""
    annotations.add("authorization.k8s.io/decision", "allow" if decision.allowed else "forbid")
    annotations.add("authorization.k8s.io/reason", decision.reason)


def authorization(
    authorizer: Authorizer, metrics: AccessMetrics, *, monotonic: Callable[[], float] = time.perf_counter
) -> Filter:
    """Raise 403 unless the authorizer allows the request."""
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

        return filtered

    return wrap
