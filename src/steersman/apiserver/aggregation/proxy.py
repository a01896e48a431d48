"""Proxy of requests to aggregated API servers.

The backend learns the user from ``X-Remote-*`` headers, which it trusts because of the client certificate. Bodies and answers
are streamed in both directions, upgrades are handed over. Upstream: ``kube-aggregator/pkg/apiserver/handler_proxy.go``.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Final
from urllib.parse import quote as quote_url

from steersman.apiserver.aggregation.backend import BackendTLSError
from steersman.apiserver.aggregation.remote_user import remote_user_headers, without_remote_user
from steersman.apiserver.aggregation.service_resolver import ResolveError
from steersman.apiserver.http import Response, Tunnel
from steersman.apiserver.proxying.connections import DialError, Outgoing, exchange
from steersman.apiserver.proxying.forwarding import forwarded_headers, origin_headers, relay_response, wants_upgrade

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from random import Random

    from steersman.apiserver.aggregation.backend import Backend
    from steersman.apiserver.http import Request
    from steersman.apiserver.proxying.kubelet import Location
    from steersman.apiserver.proxying.pool import ConnectionPool

    Headers = list[tuple[bytes, bytes]]

_log = logging.getLogger(__name__)

_UNAVAILABLE: Final = "service unavailable"
_REDIRECTED: Final = b"the backend attempted to redirect this request, which is not permitted"
#: Headers that this server sets or answers itself.
_NOT_FORWARDED: Final = frozenset((b"audit-id", b"expect", b"via"))


class AggregatorProxy:
    """Forwards requests. A request that was forwarded by this server before is answered with 508.

    The pseudonym of the server in ``Via`` (RFC 9110, 7.6.3) shows that, also when other servers are part of the loop.
    """

    def __init__(self, *, dice: Random, rejects_redirects: bool = True) -> None:
        self._dice: Final = dice
        self._rejects_redirects: Final = rejects_redirects
        self._pseudonym: Final = f"steersman-{secrets.token_hex(8)}"

    async def serve(self, request: Request, backend: Backend) -> Response:
        """Return the answer of the backend, or upstream's plain text about why there is none."""
        if not backend.is_available:
            return plain(503, _UNAVAILABLE)
        if any(self._pseudonym in value for value in request.header_all(b"via")):
            return plain(508, f"the APIService of {backend.spec.path} leads back to this API server")
        try:
            pool = await backend.pool()
        except BackendTLSError as error:
            return plain(500, str(error))
        try:
            location = self._dice.choice(backend.locations())
        except ResolveError as error:
            _log.warning("error resolving %s/%s: %s", backend.spec.namespace, backend.spec.service, error)
            return plain(503, _UNAVAILABLE)
        if wants_upgrade(request):
            return await self._upgrade(request, pool, location)
        return await self._forward(request, pool, location)

    async def _forward(self, request: Request, pool: ConnectionPool, location: Location) -> Response:
        headers = [*self._headers(request), *origin_headers(request)]
        length = request.header(b"content-length")
        has_body = length not in ("", "0") or bool(request.header(b"transfer-encoding"))
        if has_body and length:
            headers.append((b"content-length", length.encode()))
        stream = _pieces(request) if has_body else None
        sent = Outgoing(method=request.method, target=_target(request), headers=headers, stream=stream)
        try:
            answer = await pool.round_trip(location, sent)
        except DialError as error:
            return plain(503, f"error trying to reach service: {error}")
        if answer.sending is not None:
            answer.sending.cancel()  # the answer is complete without the rest of the body
        if self._is_rejected_redirect(answer.code, answer.headers):
            answer.close()
            return Response(502, _REDIRECTED, content_type=b"text/plain; charset=utf-8")
        return _without_own(relay_response(answer))

    def _is_rejected_redirect(self, code: int, headers: Headers) -> bool:
        return self._rejects_redirects and 300 <= code <= 399 and any(name == b"location" for name, _ in headers)

    async def _upgrade(self, request: Request, pool: ConnectionPool, location: Location) -> Response:
        if "steersman.upgrade" not in request.scope.get("extensions", {}):
            return plain(500, "unable to upgrade: the connection cannot be taken over")
        upgrade = request.header(b"upgrade").encode()
        headers = [*self._headers(request), (b"connection", b"Upgrade"), (b"upgrade", upgrade)]
        sent = Outgoing(method=request.method, target=_target(request), headers=headers, body=await request.body())
        try:
            answer = await exchange(*await pool.dial(location), sent, location.authority)
        except DialError as error:
            return plain(503, str(error))
        if self._is_rejected_redirect(answer.code, answer.headers):
            answer.close()
            return Response(502, _REDIRECTED, content_type=b"text/plain; charset=utf-8")
        if answer.code != 101:
            return _without_own(relay_response(answer))
        response = _without_own(Response(101, content_type=b"", headers=answer.headers))
        response.tunnel = Tunnel(answer.reader, answer.writer, answer.rest)
        return response

    def _headers(self, request: Request) -> Headers:
        forwarded = [
            header for header in without_remote_user(forwarded_headers(request)) if header[0] not in _NOT_FORWARDED
        ]
        via = ", ".join([*request.header_all(b"via"), f"1.1 {self._pseudonym}"])
        return [
            *forwarded,
            *remote_user_headers(request.user),
            (b"via", via.encode("latin-1")),
            (b"audit-id", request.audit_id.encode("latin-1")),
        ]


def plain(code: int, text: str) -> Response:
    """Return an answer as Go's ``http.Error`` writes it."""
    headers = [(b"x-content-type-options", b"nosniff")]
    return Response(code, f"{text}\n".encode(), content_type=b"text/plain; charset=utf-8", headers=headers)


def _without_own(response: Response) -> Response:
    response.headers = [header for header in response.headers if header[0] != b"audit-id"]
    return response


def _target(request: Request) -> str:
    path = request.scope.get("raw_path")
    text = path.decode("latin-1") if path else quote_url(request.path)
    return f"{text}?{request.raw_query.decode('latin-1')}" if request.raw_query else text


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    has_more = True
    while has_more:
        piece, has_more = await request.receive_piece()
        yield piece
