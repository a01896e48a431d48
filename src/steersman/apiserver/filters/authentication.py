"""Authentication filter. Upstream: ``WithAuthentication``."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import unauthorized
from steersman.apiserver.authn.interface import InvalidCredentials

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.authn.interface import ServerAuthenticator
    from steersman.apiserver.filters.access_metrics import AccessMetrics
    from steersman.apiserver.http import Filter, Handler, Request, Response

_log = logging.getLogger(__name__)


def authentication(
    authenticator: ServerAuthenticator,
    metrics: AccessMetrics,
    *,
    monotonic: Callable[[], float] = time.perf_counter,
) -> Filter:
    """Set ``request.user``.

    Raises 401 for invalid credentials, or without any where anonymous requests are not allowed.
    """
    authenticate, authenticate_cached = authenticator.authenticate, authenticator.authenticate_cached

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            started = monotonic()
            user = authenticate_cached(request)
            if user is None:
                return authenticate_and_handle(request, started)
            metrics.authenticated(user.name, monotonic() - started)
            request.user = user
            return handler(request)

        async def authenticate_and_handle(request: Request, started: float) -> Response:
            is_error = False
            try:
                user = await authenticate(request)
            except InvalidCredentials as error:
                _log.info("unable to authenticate the request: %s", error)
                user, is_error = None, True
            if user is None:
                metrics.unauthenticated(monotonic() - started, is_error=is_error)
                raise unauthorized("Unauthorized")
            metrics.authenticated(user.name, monotonic() - started)
            request.user = user
            return await handler(request)

        return filtered

    return wrap
