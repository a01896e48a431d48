"""Calls of webhooks: a ``clientConfig`` and a JSON body in, the JSON body of the answer out.

Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/client.go and client-go's ``rest.Request``. Redirects are not
followed: a webhook could otherwise direct the server's requests to any host.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
import posixpath
import socket
import ssl
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import quote as quote_path
from urllib.parse import urlsplit

from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.errors import StatusError, generic_server_response
from steersman.apimachinery.gotext import errno_text, quote
from steersman.apiserver.webhooks.connection import CONNECTIONS_MAX, Connection, ExchangeError, Pool
from steersman.apiserver.webhooks.services import Address
from steersman.apiserver.webhooks.tls import CABundleError, HostNameError, tls_context, tls_error_text, verify_host
from steersman.asynckit.timeouts import Timeout
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.webhooks.connection import Answer
    from steersman.apiserver.webhooks.services import ServiceResolver
    from steersman.asynckit.clock import Clock

#: Default bound of a response body: a patch may replace a whole object, in base64.
RESPONSE_BYTES_MAX: Final = 16 * 1024 * 1024
#: Webhooks whose connections are kept; the least recently used one is forgotten.
_CLIENTS_MAX: Final = 256
_DIAL_SECONDS: Final = 30.0
_MESSAGE_BYTES_MAX: Final = 2048


class WebhookConfigError(Exception):
    """A ``clientConfig`` that cannot be used."""


class WebhookCallError(Exception):
    """The webhook gave no usable answer; the text is upstream's.

    ``status``: the error that the webhook answered with; None if it did not answer. ``is_timeout``: not in time.
    """

    def __init__(self, message: str, status: StatusError | None = None, *, is_timeout: bool = False) -> None:
        super().__init__(message)
        self.status: Final = status
        self.is_timeout: Final = is_timeout


class Target(NamedTuple):
    """Address of a webhook, as its configuration names it."""

    #: ``host:port`` as in URLs and in the Host header.
    authority: str
    #: Name in the certificate, and in SNI.
    host: str
    port: int
    path: str
    ca_bundle: bytes = b""
    #: Namespace and name of the Service; None: ``host`` is dialed.
    service: tuple[str, str] | None = None

    def url(self, seconds: int) -> str:
        """Return the URL of a call with a timeout."""
        return f"https://{self.authority}{self.path}?timeout={_duration(seconds)}"


def target_of(config: Tree) -> Target:
    """Read a ``clientConfig`` (``WebhookClientConfig`` of any group). Raises ``WebhookConfigError``."""
    try:
        ca_bundle = base64.b64decode(config.get("caBundle") or "", validate=True)
    except binascii.Error as undecodable:
        raise WebhookConfigError(f"invalid caBundle: {undecodable}") from None
    service = config.get("service")
    if service is not None:
        host = f"{service['name']}.{service['namespace']}.svc"
        port = service.get("port") or 443
        owner = (service["namespace"], service["name"])
        return Target(f"{host}:{port}", host, port, _path(service.get("path") or ""), ca_bundle, owner)
    url = config.get("url")
    if not url:
        raise WebhookConfigError("webhook configuration must have either service or URL")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 443
    except ValueError as error:
        raise WebhookConfigError(f"Unparsable URL: {error}") from None
    if not host or parts.scheme != "https":
        raise WebhookConfigError(f"Unparsable URL: {quote(url)}")
    return Target(parts.netloc.rpartition("@")[2], host, port, _path(parts.path), ca_bundle)


def _path(path: str) -> str:
    return posixpath.normpath("/" + quote_path(path.lstrip("/"), safe="/%:@!$&'()*+,;=~-._"))


def _head(target: Target, seconds: int, agent: str) -> bytes:
    """Return the head of a request up to the value of Content-Length, its last field."""
    return (
        f"POST {target.path}?timeout={_duration(seconds)} HTTP/1.1\r\n"
        f"Host: {target.authority}\r\n"
        f"User-Agent: {agent}\r\n"
        "Accept: application/json, */*\r\n"
        "Content-Type: application/json\r\n"
        "Content-Length: "
    ).encode()


def _duration(seconds: int) -> str:
    return f"{seconds}s" if seconds < 60 else f"{seconds // 60}m{seconds % 60}s"


class WebhookClient:
    """Client of one webhook, with a pool of connections."""

    def __init__(
        self, target: Target, tls: ssl.SSLContext, *, resolver: ServiceResolver, clock: Clock, connections_max: int
    ) -> None:
        self.target: Final = target
        self._tls: Final = tls
        self._resolver: Final = resolver
        self._clock: Final = clock
        #: By timeout in seconds, and User-Agent.
        self._heads: Final[dict[tuple[int, str], bytes]] = {}
        self._pool: Final = Pool(self._dial, clock=clock, connections_max=connections_max)

    @property
    def in_use(self) -> int:
        """Number of calls under way."""
        return self._pool.in_use

    async def post(
        self, body: bytes, *, timeout_seconds: float, agent: str, response_bytes_max: int = RESPONSE_BYTES_MAX
    ) -> bytes:
        """Post a JSON body and return the JSON body of a successful response.

        The call takes at most ``timeout_seconds``, including the wait for a connection. ``agent``: User-Agent.
        Raises ``WebhookCallError``.
        """
        seconds = math.ceil(timeout_seconds)
        head = self._heads.get((seconds, agent))
        if head is None:
            head = self._heads[seconds, agent] = _head(self.target, seconds, agent)
        request = b"%b%d\r\n\r\n%b" % (head, len(body), body)
        try:
            answer = await self._pool.exchange(
                request, timeout_seconds=timeout_seconds, body_bytes_max=response_bytes_max
            )
        except TimeoutError:
            raise self._failure(seconds, "context deadline exceeded", is_timeout=True) from None
        except ExchangeError as error:
            raise self._failure(seconds, str(error)) from None
        return json_body(answer)

    def _failure(self, seconds: int, reason: str, *, is_timeout: bool = False) -> WebhookCallError:
        return WebhookCallError(f"Post {quote(self.target.url(seconds))}: {reason}", is_timeout=is_timeout)

    async def _dial(self) -> Connection:
        """Open a connection. Raises ``ExchangeError``."""
        target = self.target
        if target.service is None:
            address = Address(target.host, target.port)
        else:
            try:
                address = await self._resolver.resolve(*target.service, target.port)
            except StatusError as unresolved:
                raise ExchangeError(unresolved.status.get("message") or str(unresolved)) from None
        host_port = f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"
        loop = asyncio.get_running_loop()
        try:
            async with Timeout(_DIAL_SECONDS, clock=self._clock):
                _, protocol = await loop.create_connection(
                    cast("type[asyncio.Protocol]", Connection),
                    address.host,
                    address.port,
                    ssl=self._tls,
                    server_hostname=target.host,
                )
        except TimeoutError:
            raise ExchangeError(f"dial tcp {host_port}: i/o timeout") from None
        except ssl.SSLError as refused:
            raise ExchangeError(tls_error_text(refused)) from None
        except (socket.gaierror, UnicodeError):
            raise ExchangeError(f"dial tcp: lookup {address.host}: no such host") from None
        except ConnectionResetError:
            raise ExchangeError("EOF") from None
        except OSError as error:
            raise ExchangeError(f"dial tcp {host_port}: connect: {_reason(error)}") from None
        connection = cast("Connection", protocol)
        try:
            verify_host(connection.peer_certificate(), target.host)
        except HostNameError as mismatch:
            connection.abort()
            raise ExchangeError(str(mismatch)) from None
        return connection

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return errno_text(error)


def json_body(answer: Answer) -> bytes:
    """Return the body of a successful JSON response. Raises ``WebhookCallError``. Upstream: ``Result.Into`` of client-go."""
    media_type = answer.content_type.partition(";")[0].strip().lower()
    if not 200 <= answer.status <= 206:
        error = _status_error(answer, media_type)
        raise WebhookCallError(error.status.get("message") or f"status code {answer.status}", error)
    if media_type not in ("", "application/json"):
        raise WebhookCallError(f"serializer for {answer.content_type} doesn't exist")
    if not answer.body:
        kind = answer.content_type
        raise WebhookCallError(f"0-length response with status code: {answer.status} and content type: {kind}")
    return answer.body


def _status_error(answer: Answer, media_type: str) -> StatusError:
    """Return the Status in the body of a failure, or what the code means."""
    try:
        tree: Any = decode_json(answer.body)
        if isinstance(tree, dict) and (tree.get("kind"), tree.get("apiVersion")) == ("Status", "v1"):
            return StatusError({"code": answer.status, **decode(struct_for("", "v1", "Status"), tree).tree})
    except DecodeError:
        pass
    is_text = not media_type or media_type.startswith("text/")
    message = answer.body[:_MESSAGE_BYTES_MAX].decode(errors="replace").strip() if is_text else "unknown"
    return generic_server_response(answer.status, verb="POST", server_message=message, unexpected=True)


class WebhookClients:
    """Clients by configuration: equal configurations share connections. Upstream: ``webhook.ClientManager``."""

    def __init__(self, resolver: ServiceResolver, *, clock: Clock, connections_max: int = CONNECTIONS_MAX) -> None:
        self._resolver: Final = resolver
        self._clock: Final = clock
        self._connections_max: Final = connections_max
        #: In order of use.
        self._clients: Final[dict[Target, WebhookClient]] = {}
        #: Shared by webhooks without a bundle, because loading the system's authorities is slow.
        self._system_tls: ssl.SSLContext | None = None

    def _tls(self, ca_bundle: bytes) -> ssl.SSLContext:
        """Return the TLS context for a bundle. Raises ``CABundleError``."""
        if ca_bundle:
            return tls_context(ca_bundle)
        tls = self._system_tls
        if tls is None:
            tls = self._system_tls = tls_context(ca_bundle)
        return tls

    def client(self, target: Target) -> WebhookClient:
        """Return the client of a target. Raises ``WebhookConfigError``."""
        client = self._clients.pop(target, None)
        if client is None:
            try:
                tls = self._tls(target.ca_bundle)
            except CABundleError as error:
                raise WebhookConfigError(str(error)) from None
            client = WebhookClient(
                target, tls, resolver=self._resolver, clock=self._clock, connections_max=self._connections_max
            )
            while len(self._clients) >= _CLIENTS_MAX:
                self._clients.pop(next(iter(self._clients))).close()
        self._clients[target] = client
        return client

    def close(self) -> None:
        """Close idle connections of all clients."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()
