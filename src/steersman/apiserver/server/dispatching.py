"""Where the chain of filters ends: resources go one way, all other paths another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.http import Handler, Request, Response
    from steersman.apiserver.server.routes import Routes


def dispatching(resources: Handler, routes: Routes) -> Handler:
    """The handler that the innermost filter calls."""

    def dispatch(request: Request) -> Awaitable[Response]:
        return resources(request) if request.info.is_resource else routes.dispatch(request)

    return dispatch
