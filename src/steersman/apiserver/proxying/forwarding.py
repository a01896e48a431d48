"""Forwarding of requests to kubelets, Pods and Services, and of their responses and upgrades to clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import (
    bad_request,
    generic_server_response,
    internal_error,
    plain_error,
    service_unavailable,
)
from steersman.apimachinery.gotext import quote
from steersman.apiserver.http import Response, Tunnel
from steersman.apiserver.proxying.connections import DialError, Outgoing, end_to_end
from steersman.apiserver.proxying.kubelet import (
    backend_unreachable_error,
    kubelet_unreachable_error,
    upgrade_dial_error,
)
from steersman.apiserver.websocket import TOKEN_PREFIX

if TYPE_CHECKING:
    from steersman.apimachinery.errors import StatusError
    from steersman.apiserver.http import Request
    from steersman.apiserver.proxying.connections import Answer, Connections
    from steersman.apiserver.proxying.kubelet import Location

if TYPE_CHECKING:
    Headers = list[tuple[bytes, bytes]]

#: Maximum size of an error text, as upstream's response checker.
_ERROR_BYTES_MAX: Final = 50_000
#: Credentials for this server, which are not forwarded.
_CREDENTIALS: Final = frozenset((b"authorization", b"cookie"))
_TOKEN_PROTOCOL: Final = TOKEN_PREFIX.encode()
_BODILESS: Final = (204, 304)


async def read_from_kubelet(
    connections: Connections, location: Location, *, group_resource: str, name: str
) -> Response:
    """Stream plain text from a kubelet. Raises 500, or the kubelet's error as converted by upstream's checker."""
    if not connections.is_open:
        raise kubelet_unreachable_error(location)
    try:
        answer = await connections.round_trip(
            location, Outgoing(method="GET", target=location.path), as_kubelets_client=True
        )
    except DialError as error:
        raise plain_error(f"Get {quote(location.url)}: {error}") from error
    if not 200 <= answer.code <= 206:
        text = (await answer.text(_ERROR_BYTES_MAX)).decode(errors="replace")
        raise _convert_error(answer.code, text, group_resource, name)
    return Response(answer.code, content_type=b"text/plain", stream=answer.pieces())


def _convert_error(code: int, text: str, group_resource: str, name: str) -> StatusError:
    if code == 500:
        return internal_error(text)
    if code == 400:
        return bad_request(text)
    return generic_server_response(code, group_resource=group_resource, name=name, server_message=text)


async def upgrade_at_kubelet(connections: Connections, location: Location, request: Request) -> Response:
    """Tunnel bytes after the kubelet's 101; return its response otherwise. Raises 400, 500."""
    if not wants_upgrade(request) or not connections.is_open:
        raise upgrade_dial_error(location, request)
    return await _upgrade(connections, location, request, as_kubelets_client=True)


def wants_upgrade(request: Request) -> bool:
    """Report whether the client requests an upgrade."""
    words = ",".join(request.header_all(b"connection")).lower().split(",")
    return "upgrade" in {word.strip() for word in words} and bool(request.header(b"upgrade"))


async def _upgrade(
    connections: Connections, location: Location, request: Request, *, as_kubelets_client: bool
) -> Response:
    if "steersman.upgrade" not in request.scope.get("extensions", {}):
        raise plain_error("unable to upgrade: the connection cannot be taken over")
    headers = [
        *forwarded_headers(request),
        (b"connection", b"Upgrade"),
        (b"upgrade", request.header(b"upgrade").encode()),
    ]
    sent = Outgoing(method=request.method, target=location.path, headers=headers, body=await request.body())
    try:
        answer = await connections.round_trip(location, sent, as_kubelets_client=as_kubelets_client)
    except DialError as error:
        raise plain_error(f"error dialing backend: {error}") from error
    if answer.code != 101:
        return relay_response(answer)
    response = Response(101, content_type=b"", headers=answer.headers)
    response.tunnel = Tunnel(answer.reader, answer.writer, answer.rest)
    return response


async def proxy(
    connections: Connections, location: Location, request: Request, *, as_kubelets_client: bool
) -> Response:
    """Forward a request and return the response. Raises 500 (upgrades) or 503 if the backend is unreachable."""
    if not connections.is_open:
        raise backend_unreachable_error(location)
    if wants_upgrade(request):
        return await _upgrade(connections, location, request, as_kubelets_client=as_kubelets_client)
    headers = [*forwarded_headers(request), *origin_headers(request)]
    sent = Outgoing(method=request.method, target=location.path, headers=headers, body=await request.body())
    try:
        answer = await connections.round_trip(location, sent, as_kubelets_client=as_kubelets_client)
    except DialError as error:
        raise service_unavailable(f"error trying to reach service: {error}") from error
    return relay_response(answer)


def relay_response(answer: Answer) -> Response:
    """Return the answer of a backend without the headers of its connection; its body is streamed."""
    headers = end_to_end(answer.headers)
    if answer.code in _BODILESS:
        answer.close()
        return Response(answer.code, content_type=b"", headers=headers)
    return Response(answer.code, content_type=b"", headers=headers, stream=answer.pieces())


def forwarded_headers(request: Request) -> Headers:
    """Return the client's headers without credentials and hop-by-hop headers, with ``X-Forwarded-For``."""
    left_out = (*_CREDENTIALS, b"host", b"content-length")
    headers = [(name, value) for name, value in end_to_end(request.headers) if name not in left_out]
    client = request.scope.get("client")
    if client:
        previous = [value for name, value in headers if name == b"x-forwarded-for"]
        headers = [(name, value) for name, value in headers if name != b"x-forwarded-for"]
        headers.append((b"x-forwarded-for", b", ".join([*previous, client[0].encode()])))
    return [(name, _without_token(value) if name == b"sec-websocket-protocol" else value) for name, value in headers]


def _without_token(protocols: bytes) -> bytes:
    words = (word.strip() for word in protocols.split(b","))
    return b", ".join(word for word in words if not word.startswith(_TOKEN_PROTOCOL))


def origin_headers(request: Request) -> Headers:
    """Return headers that name the URL of the request as the client sees it."""
    return [
        (b"x-forwarded-uri", request.scope.get("raw_path") or request.path.encode()),
        (b"x-forwarded-host", request.header(b"host").encode()),
        (b"x-forwarded-proto", request.scope.get("scheme", "https").encode()),
    ]
