"""End of the handler chain: aggregated API servers, then resources, then other paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.aggregation.controller import Aggregator
    from steersman.apiserver.http import Handler, Request, Response
    from steersman.apiserver.server.routes import Routes


def dispatching(resources: Handler, routes: Routes, aggregator: Aggregator | None = None) -> Handler:
    """Return the handler that the innermost filter calls."""

    def dispatch(request: Request) -> Awaitable[Response]:
        if aggregator is not None and aggregator.has_backends:
            backend = aggregator.find(request)
            if backend is not None:
                return aggregator.serve(request, backend)
        return resources(request) if request.info.is_resource else routes.dispatch(request)

    return dispatch
