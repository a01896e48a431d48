"""Conversion of exceptions to responses. Upstream: ``WithPanicRecovery``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import StatusError, internal_error
from steersman.apiserver.endpoints.representation import render_status

if TYPE_CHECKING:
    from steersman.apiserver.http import Filter, Handler, Request, Response

_log = logging.getLogger(__name__)


def errors() -> Filter:
    """Convert StatusErrors to responses, and log any other exception as a 500 with the audit id."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            try:
                return await handler(request)
            except StatusError as error:
                return render_status(request, error)
            except Exception:  # noqa: BLE001 — this is the place where all of them end
                _log.exception("%s %s failed, audit id %s", request.method, request.path, request.audit_id)
                message = f"the request failed in the server, its log tells more under audit id {request.audit_id}"
                return render_status(request, internal_error(message))

        return filtered

    return wrap
