"""HTTP transport over TCP, based on aiohttp, which is imported with the first connection.

Also reads the proxy environment variables and builds the TLS context. See ``docs/toolkit.md`` for the choice of
library.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import asynccontextmanager
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from steersman.client.credentials import ConfigError
from steersman.client.transport import Response, TransportError
from steersman.extras import require

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import aiohttp

    from steersman.client.credentials import Identity
    from steersman.client.kubeconfig import ClusterAccess
    from steersman.client.transport import Request

#: Concurrent connections; each watch occupies one. Further requests wait for a free connection.
CONNECTIONS_MAX: Final = 256
_CONNECT_SECONDS: Final = 30.0
_READ_BUFFER_BYTES: Final = 256 * 1024


class AiohttpTransport:
    """``Transport`` to one server as one user, with a pool of persistent connections."""

    def __init__(self, access: ClusterAccess, *, connections_max: int = CONNECTIONS_MAX) -> None:
        """Raises MissingPackagesError without aiohttp."""
        require("a client over TCP", "toolkit")
        self._access = access
        self._connections_max = connections_max
        parts = urlsplit(access.server)
        self.host: Final = parts.netloc
        #: CA bundle (PEM) that verifies the server's certificate; None: the system's trust store.
        self.ca: Final = access.ca
        self._base = access.server
        self._proxy = access.proxy_url or proxy_from(os.environ, access.server)
        self._extra_headers = [("accept-encoding", "identity")] if access.disable_compression else []
        self._session: aiohttp.ClientSession | None = None
        #: Client certificate and key of the session; another certificate needs another session.
        self._session_pair: tuple[bytes | None, bytes | None] = (None, None)
        #: Sessions of earlier certificates, which may have open streams.
        self._retired: list[aiohttp.ClientSession] = []

    async def request(self, request: Request) -> Response:
        """Return the whole response. After a 401, retry once if the credentials can be renewed."""
        response = await self._request_once(request)
        if response.status == 401 and self._access.credentials.reject():
            response = await self._request_once(request)
        return response

    async def _request_once(self, request: Request) -> Response:
        async with self._respond(request) as response:
            try:
                body = await response.read()
            except (OSError, _error_class()) as error:
                raise TransportError(_error_text(error)) from error
            return Response(response.status, _headers(response), body)

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[_ResponseStream]:
        """Open a streamed response. After a 401, retry once if the credentials can be renewed."""
        async with self._respond(request) as response:
            if response.status != 401 or not self._access.credentials.reject():
                yield _ResponseStream(response)
                return
        async with self._respond(request) as response:
            yield _ResponseStream(response)

    async def close(self) -> None:
        """Close all connections."""
        sessions = [*self._retired, *([self._session] if self._session else [])]
        self._retired, self._session = [], None
        for session in sessions:
            await session.close()

    @asynccontextmanager
    async def _respond(self, request: Request) -> AsyncIterator[aiohttp.ClientResponse]:
        from aiohttp import (  # noqa: PLC0415 — see the module's docstring
            ClientConnectorError,
            ClientError,
            ServerDisconnectedError,
        )
        from yarl import URL  # noqa: PLC0415 — as above

        identity = await self._access.credentials.identity()
        session = await self._session_for(identity)
        try:
            response = await session.request(
                request.method,
                URL(self._base + request.target, encoded=True),
                data=request.body,
                headers=[*request.headers.items(), *identity.headers, *self._extra_headers],
                allow_redirects=False,
                proxy=self._proxy or None,
                server_hostname=self._access.tls_server_name or None,
            )
        except ClientConnectorError as error:
            raise TransportError(_error_text(error), before_sending=True) from error
        except (ClientError, OSError) as error:
            is_reset = isinstance(error, ConnectionResetError | BrokenPipeError | ServerDisconnectedError)
            raise TransportError(_error_text(error), is_reset=is_reset) from error
        try:
            yield response
        finally:
            response.close()

    async def _session_for(self, identity: Identity) -> aiohttp.ClientSession:
        pair = (identity.certificate, identity.key)
        if self._session is not None and pair == self._session_pair:
            return self._session
        import aiohttp  # noqa: PLC0415 — see the module's docstring

        if self._session is not None:
            self._retired.append(self._session)
        connector = aiohttp.TCPConnector(limit=self._connections_max, ssl=tls_context(self._access, identity))
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            read_bufsize=_READ_BUFFER_BYTES,
            response_class=_response_class(),
            # Not ``trust_env``: it reads the environment and ``.netrc`` in a thread for each request.
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._session_pair = pair
        return self._session


@cache
def _response_class() -> type[aiohttp.ClientResponse]:
    """Return the class of responses, which abort their connection when closed before the end, or cancelled before the head.

    A TLS close handshake would wait for the server; neither ``close`` nor the event loop's shutdown waits for that.
    """
    from aiohttp import ClientResponse  # noqa: PLC0415 — see the module's docstring

    class AbortingResponse(ClientResponse):
        def close(self) -> None:
            if self.connection is not None and self.connection.transport is not None:
                self.connection.transport.abort()
            super().close()

    return AbortingResponse


class _ResponseStream:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status: Final = response.status
        self.headers: Final = _headers(response)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (OSError, RuntimeError, _error_class()) as error:  # RuntimeError: the transport was closed meanwhile
            raise TransportError(_error_text(error)) from error


def proxy_from(environment: Mapping[str, str], server: str) -> str:
    """Return the proxy URL for a server from ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY``; empty: no proxy.

    Lower-case names are accepted, and loopback addresses are never proxied. Upstream:
    ``golang.org/x/net/http/httpproxy``.
    """
    environment_proxies = {
        name.lower(): value for name, value in environment.items() if value and name.lower().endswith("_proxy")
    }
    parts = urlsplit(server)
    host = parts.hostname or ""
    proxy = environment_proxies.get(f"{parts.scheme}_proxy", "")
    if not proxy or _is_loopback(host):
        return ""
    for entry in environment_proxies.get("no_proxy", "").split(","):
        if _matches_no_proxy(entry.strip().lower(), host, parts.port):
            return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _matches_no_proxy(entry: str, host: str, port: int | None) -> bool:
    """Report whether a ``NO_PROXY`` entry (name, domain, address or CIDR, optionally with a port) matches the host."""
    name, _, number = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if not name or (number and number != str(port or 443)):
        return False
    if name == "*":
        return True
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        domain = name.removeprefix("*").removeprefix(".")
        return host.endswith(f".{domain}") or (host == domain and not name.startswith("."))


def tls_context(access: ClusterAccess, identity: Identity) -> ssl.SSLContext | bool:
    """Return the TLS context for a cluster and identity; True for plain HTTP.

    Raises ``ConfigError`` for an unreadable CA bundle, client certificate or key.
    """
    if not access.server.startswith("https://"):
        return True
    try:
        context = ssl.create_default_context(cadata=None if access.ca is None else access.ca.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"the certificate authority of {access.server} cannot be read: {error}") from error
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # As in Go, every certificate of the bundle is trusted, self-signed or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    if identity.certificate is not None and identity.key is not None:
        _load_pair(context, identity.certificate, identity.key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate and key. OpenSSL reads them from files only.

    The file has mode 0600 and is removed at once.
    """
    handle, name = tempfile.mkstemp(prefix="steersman-client-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(name)
    except ssl.SSLError as error:
        raise ConfigError(f"the client certificate and its key cannot be read: {error}") from error
    finally:
        Path(name).unlink()


def _headers(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for key, value in response.headers.items():
        name = key.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _error_class() -> type[Exception]:
    from aiohttp import ClientError  # noqa: PLC0415 — see the module's docstring

    return ClientError


def _error_text(error: BaseException) -> Any:
    return str(error) or type(error).__name__


def preload() -> None:
    """Import aiohttp now, so that the first connection does not wait for the import."""
    import aiohttp  # noqa: F401, PLC0415


def preload_without_trust_store() -> Callable[[], None]:
    """Import aiohttp without the system's trust store; return the function that loads it, to be called in a thread.

    aiohttp reads the trust store twice at import, for its default contexts, which takes half of the import's time.
    Clusters are reached with their own contexts. Until the returned function is called, connections that use the
    default contexts fail to verify their server. No effect when aiohttp is already imported.
    """
    contexts: list[ssl.SSLContext] = []

    def defer(self: ssl.SSLContext) -> None:
        contexts.append(self)

    # Shadow the base class's method during the import.
    ssl.SSLContext.set_default_verify_paths = defer  # type: ignore[method-assign]
    try:
        preload()
    finally:
        del ssl.SSLContext.set_default_verify_paths

    def load() -> None:
        for context in contexts:
            context.set_default_verify_paths()

    return load
