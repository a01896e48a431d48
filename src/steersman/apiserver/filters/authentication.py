"""Finds out who asks (``WithAuthentication``)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import unauthorized
from steersman.apiserver.authn.interface import InvalidCredentials

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.authn.interface import RequestAuthenticator
    from steersman.apiserver.http import Filter, Handler, Request, Response
    from steersman.apiserver.request import UserInfo

_log = logging.getLogger(__name__)


def _nobody(request: Request) -> None:
    """Of authenticators that always have to be waited for."""
    del request


def authentication(authenticator: RequestAuthenticator) -> Filter:
    """Sets ``request.user``. Raises 401 for bad credentials, and for none where anonymous requests are not allowed."""
    authenticate = authenticator.authenticate
    #: Most callers are known without waiting.
    at_once: Callable[[Request], UserInfo | None] = getattr(authenticator, "at_once", _nobody)

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            user = at_once(request)
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
