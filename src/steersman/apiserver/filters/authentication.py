"""Authentication filter. Upstream: ``WithAuthentication``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import unauthorized
from steersman.apiserver.authn.interface import InvalidCredentials

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.authn.interface import ServerAuthenticator
    from steersman.apiserver.http import Filter, Handler, Request, Response

_log = logging.getLogger(__name__)


def authentication(authenticator: ServerAuthenticator) -> Filter:
    """Set ``request.user``.

    Raises 401 for invalid credentials, or without any where anonymous requests are not allowed.
    """
    authenticate, authenticate_cached = authenticator.authenticate, authenticator.authenticate_cached

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            user = authenticate_cached(request)
            if user is None:
                return asked(request)
            request.user = user
            return handler(request)

        async def asked(request: Request) -> Response:
            try:
                user = await authenticate(request)
            except InvalidCredentials as error:
                _log.info("unable to authenticate the request: %s", error)
                user = None
            if user is None:
                raise unauthorized("Unauthorized")
            request.user = user
            return await handler(request)

        return filtered

    return wrap
