"""HTTP listeners for requests of any method and path, with bodies of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


#: Longer than clients keep idle connections (client-go: 90 s): a connection is not closed while its client begins a request.
IDLE_SECONDS: Final = 120.0


def listener_runner(
    handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    *,
    shutdown_seconds: float,
    idle_seconds: float = IDLE_SECONDS,
) -> web.BaseRunner:
    """Return the runner of a listener whose requests go to ``handle``. Responses have no ``Server`` header, as Go's.

    A connection without a complete head of a request is closed after ``idle_seconds``, of the event loop's time.
    """

    @web.middleware
    async def handle_all(request: web.Request, handler: object) -> web.StreamResponse:  # noqa: ARG001 — passed by name
        return await handle(request)

    application = web.Application(middlewares=[handle_all])
    application.on_response_prepare.append(_remove_server_header)
    return web.AppRunner(
        application, access_log=None, shutdown_timeout=shutdown_seconds, keepalive_timeout=idle_seconds
    )


async def _remove_server_header(_request: web.BaseRequest, response: web.StreamResponse) -> None:
    response.headers.popall(hdrs.SERVER, None)
