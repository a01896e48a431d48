"""Turns every refusal and every fault into an answer (``WithPanicRecovery``)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from steersman.apimachinery.errors import StatusError, internal_error
from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from steersman.apiserver.http import Filter, Handler, Request

_log = logging.getLogger(__name__)


def errors() -> Filter:
    """Answers StatusErrors as they are, and anything else with a 500 that leads to the traceback in the log."""

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            try:
                return await handler(request)
            except StatusError as error:
                return status_response(request, error)
            except Exception:  # noqa: BLE001 — this is the place where all of them end
                _log.exception("%s %s failed, audit id %s", request.method, request.path, request.audit_id)
                why = f"the request failed in the server, its log tells more under audit id {request.audit_id}"
                return status_response(request, internal_error(why))

        return filtered

    return wrap


def status_response(request: Request, error: StatusError) -> Response:
    """The Status in the form that the client asked for, JSON where that cannot hold it."""
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in error.headers.items()]
    accept = request.header(b"accept")
    if "yaml" in accept and "json" not in accept.partition("yaml")[0]:
        from steersman.apimachinery.yaml_codec import encode_yaml  # noqa: PLC0415 — most processes never need it

        return Response(error.code, encode_yaml(error.status), content_type=b"application/yaml", headers=headers)
    return Response(error.code, msgspec.json.encode(error.status), headers=headers)
