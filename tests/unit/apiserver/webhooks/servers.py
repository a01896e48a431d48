"""HTTPS server of webhooks for tests, on the test's own event loop."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Self

from steersman.asynckit.certificates import Pems, make_ca, make_server
from steersman.asynckit.clock import RealClock

#: Complete HTTP response for a path and a body; None closes the connection.
Respond = Callable[[str, Any], Awaitable[bytes | None]]

_LIFE = timedelta(days=1)
#: Size of a response that no API server reads to its end.
HUGE_BYTES = 100_000_000


@cache
def authority(name: str = "webhook-ca") -> Pems:
    return make_ca(name, now=RealClock().now(), life=_LIFE)


def ca_bundle(name: str = "webhook-ca") -> str:
    return base64.b64encode(authority(name).certificate).decode()


@cache
def server_tls(hosts: tuple[str, ...], ca: str = "webhook-ca") -> ssl.SSLContext:
    pems = make_server("webhook", list(hosts), authority(ca), now=RealClock().now(), life=_LIFE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        certificate, key = Path(directory, "crt"), Path(directory, "key")
        certificate.write_bytes(pems.certificate)
        key.write_bytes(pems.key)
        context.load_cert_chain(certificate, key)
    return context


def http_response(body: Any, *, status: int = 200, kind: str = "application/json", headers: str = "") -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n{headers}\r\n".encode() + text
    )


def with_failures(respond: Respond) -> Respond:
    """Return a webhook that fails in another way at each of ``/hang``, ``/huge``, ``/close``, ``/garbage`` and ``/redirect``."""

    async def respond_or_fail(path: str, review: Any) -> bytes | None:
        match path:
            case "/hang":
                await asyncio.Event().wait()
            case "/huge":
                return http_response(b"x" * HUGE_BYTES)
            case "/close":
                return None
            case "/garbage":
                return http_response(b"<html>", kind="text/html")
            case "/redirect":
                return http_response(b"", status=307, headers="Location: https://127.0.0.1:1/\r\n")
        return await respond(path, review)

    return respond_or_fail


class WebhookServer:
    """``async with WebhookServer(respond) as server:`` listens on 127.0.0.1."""

    def __init__(
        self,
        respond: Respond,
        *,
        hosts: tuple[str, ...] = ("127.0.0.1",),
        ca: str = "webhook-ca",
        tls: bool = True,
        context: ssl.SSLContext | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        """``context`` has a certificate of another origin than ``hosts`` and ``ca``."""
        self._respond = respond
        self._tls = context or (server_tls(hosts, ca) if tls else None)
        self._address = address
        self.connections = 0
        #: Paths with queries, in order of arrival.
        self.targets: list[str] = []
        self.bodies: list[Any] = []
        #: Values of the header ``Authorization``; empty without one.
        self.authorizations: list[str] = []
        self.port = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, *self._address, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def close_connections(self) -> None:
        """Close idle connections from the server's side."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.append(writer)
        self.connections += 1
        try:
            if self._tls is None:
                await reader.read(1)
                writer.write(http_response(b"", status=400))
                await writer.drain()
                return
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = head.split("\r\n")
                lengths = [int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length")]
                body = json.loads(await reader.readexactly(lengths[0])) if lengths else None
                target = lines[0].split(" ")[1]
                self.targets.append(target)
                headers = [line.partition(": ") for line in lines[1:]]
                self.authorizations.append(next((v for n, _, v in headers if n.lower() == "authorization"), ""))
                self.bodies.append(body)
                answer = await self._respond(target.partition("?")[0], body)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
