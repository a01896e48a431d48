"""Probes of the other components of a control plane, for ``componentstatuses``.

Upstream: pkg/registry/core/rest/storage_core.go (``serversToValidate``), pkg/registry/core/componentstatus/validator.go.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.storage.store import Store

    Probe = Callable[[], Awaitable["Health"]]
    Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CONTROLLER_MANAGER: Final = "controller-manager"
SCHEDULER: Final = "scheduler"
STORAGE: Final = "etcd-0"

#: Component → port that upstream serves by HTTPS, and port that ``steersman`` components serve by HTTP.
_PORTS: Final = {CONTROLLER_MANAGER: (10257, 10252), SCHEDULER: (10259, 10251)}
_HOST: Final = "127.0.0.1"
_PROBE_SECONDS: Final = 5.0
_ANSWER_BYTES_MAX: Final = 10 * 1024
_REQUEST: Final = b"GET /healthz HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n"


class Health(NamedTuple):
    """Result of a probe."""

    is_healthy: bool
    message: str = ""
    error: str = ""


class Components:
    """Components by name, each with its probe."""

    def __init__(self, store: Store) -> None:
        """Probe the usual ports of this machine, and ``store`` in place of etcd."""
        self._probes: dict[str, Probe] = {STORAGE: partial(probe_store, store)}
        for name, ports in _PORTS.items():
            self._probes[name] = partial(_probe_component, *ports)

    @property
    def names(self) -> list[str]:
        """Return all component names in alphabetical order."""
        return sorted(self._probes)

    def use_socket(self, path: str) -> None:
        """Probe controller manager and scheduler at a Unix socket: one process runs both."""
        for name in _PORTS:
            self._probes[name] = partial(probe_socket, path)

    async def probe(self, name: str) -> Health:
        """Probe one component. Raises KeyError for an unknown one."""
        return await self._probes[name]()


async def _probe_component(port: int, plain_port: int) -> Health:
    """Probe upstream's port; if it is closed, the port of ``steersman``'s component."""
    health = await probe_port(port)
    if health.message.endswith("connection refused"):
        result = await probe_port(plain_port, is_tls=False)
        if result.is_healthy:
            return result
    return health


async def probe_store(store: Store) -> Health:
    """Probe the storage, reported in place of etcd."""
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            await store.current_revision()
    except TimeoutError:
        return Health(is_healthy=False, error="context deadline exceeded")
    except Exception as error:  # noqa: BLE001 — any failure of the storage is its health
        return Health(is_healthy=False, error=str(error) or type(error).__name__)
    return Health(is_healthy=True, message="ok")


async def probe_port(port: int, *, is_tls: bool = True) -> Health:
    """Request ``/healthz`` at a loopback port; over HTTPS any certificate is accepted."""
    context: ssl.SSLContext | None = None
    if is_tls:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return await _probe(
        partial(asyncio.open_connection, _HOST, port, ssl=context),
        host=f"{_HOST}:{port}",
        url=f"{'https' if is_tls else 'http'}://{_HOST}:{port}/healthz",
        dial=f"tcp {_HOST}:{port}",
    )


async def probe_socket(path: str) -> Health:
    """Request ``/healthz`` at a Unix socket; ``@`` starts a name in Linux' abstract namespace."""
    address = f"\0{path[1:]}" if path.startswith("@") else path
    return await _probe(
        partial(_open_unix, address),
        host="localhost",
        url="http://localhost/healthz",
        dial=f"unix {path}",
    )


async def _open_unix(address: str) -> Connection:
    """Connect a socket manually, as uvloop does not accept abstract names."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(sock, address)
        return await asyncio.open_unix_connection(sock=sock)
    except BaseException:
        sock.close()
        raise


async def _probe(connect: Callable[[], Awaitable[Connection]], *, host: str, url: str, dial: str) -> Health:
    """Return the response of ``/healthz``, or the error with the text of Go's ``net/http``."""
    get = f'Get "{url}"'
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            return _verdict(await _exchange(connect, host))
    except ConnectionRefusedError:
        return Health(is_healthy=False, message=f"{get}: dial {dial}: connect: connection refused")
    except FileNotFoundError:
        return Health(is_healthy=False, message=f"{get}: dial {dial}: connect: no such file or directory")
    except TimeoutError:
        return Health(is_healthy=False, message=f"{get}: context deadline exceeded")
    except (OSError, ssl.SSLError, ValueError) as error:
        return Health(is_healthy=False, message=f"{get}: {error}")


async def _exchange(connect: Callable[[], Awaitable[Connection]], host: str) -> bytes:
    reader, writer = await connect()
    try:
        writer.write(_REQUEST % host.encode())
        await writer.drain()
        return await reader.read(_ANSWER_BYTES_MAX)
    finally:
        writer.transport.abort()  # a graceful TLS shutdown would wait for the peer


def _verdict(answer: bytes) -> Health:
    """Parse a raw HTTP response. Raises ValueError."""
    head, _, body = answer.partition(b"\r\n\r\n")
    code = int(head.split(maxsplit=2)[1]) if len(head.split(maxsplit=2)) > 1 else 0
    if 200 <= code < 400:
        return Health(is_healthy=True, message=body.decode("utf-8", "replace"))
    return Health(is_healthy=False, message=f"HTTP probe failed with statuscode: {code}")
