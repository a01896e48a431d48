"""Asks whether the caller may (``WithAuthorization``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.authz.interface import Verdict, refusal

if TYPE_CHECKING:
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.http import Filter, Handler, Request, Response


def authorization(authorizer: Authorizer) -> Filter:
    """Raises 403 unless the authorizer says yes."""
    authorize = authorizer.authorize

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            decision = authorize(request.user, request.info)
            if decision.verdict is not Verdict.ALLOW:
                raise refusal(request.user, request.info, decision.reason)
            return await handler(request)

        return filtered

    return wrap
