"""ASGI scopes of the requests of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from steersman.apiserver.server.http1.peer import address, tls_extension

if TYPE_CHECKING:
    import asyncio

_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}


class RequestScopes:
    """Creates the scopes, which share what they say about the connection."""

    __slots__ = ("_client", "_extensions", "_scheme", "_server")

    def __init__(self, transport: asyncio.Transport, extensions: dict[str, Any]) -> None:
        tls = tls_extension(transport)
        self._client: Final = address(transport, "peername")
        self._server: Final = address(transport, "sockname")
        self._scheme: Final = "https" if tls else "http"
        self._extensions: dict[str, Any] = {**extensions, **tls}

    def release(self) -> None:
        """Drop the extensions, which refer to the connection."""
        self._extensions = {}

    def create(
        self, method: str, raw_path: bytes, query: bytes, version: str, headers: list[tuple[bytes, bytes]]
    ) -> dict[str, Any]:
        """Return the scope of a request."""
        path = raw_path.decode("ascii")
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self._server,
            "client": self._client,
            "scheme": self._scheme,
            "root_path": "",
            "headers": headers,
            "method": method,
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "extensions": self._extensions,
        }
