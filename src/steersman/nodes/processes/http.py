"""HTTP requests of probes and hooks to process containers, which listen on loopback."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, Final

from steersman.nodes.processes.fields import LOOPBACK

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_STATUS_LINE_BYTES_MAX: Final = 4096


def port_number(port: Any, container: Tree) -> int:
    """Return a port given by number or name; 0 for an unknown name."""
    if isinstance(port, int):
        return port
    for container_port in container.get("ports") or ():
        if container_port.get("name") == port:
            return int(container_port["containerPort"])
    return int(port) if str(port).isdigit() else 0


async def get(action: Tree, container: Tree, *, agent: str) -> int:
    """Send the request of an ``HTTPGetAction``; return the status code. Certificates are not verified, as the kubelet
    does not. Raises ``OSError``, ``ValueError`` for a response that is not HTTP.
    """
    context = _unverified() if action.get("scheme") == "HTTPS" else None
    reader, writer = await asyncio.open_connection(
        LOOPBACK, port_number(action.get("port"), container), limit=_STATUS_LINE_BYTES_MAX, ssl=context
    )
    try:
        head = [f"GET {action.get('path') or '/'} HTTP/1.1", f"Host: {action.get('host') or LOOPBACK}"]
        head.append(f"User-Agent: {agent}")
        head += [f"{http_header['name']}: {http_header['value']}" for http_header in action.get("httpHeaders") or ()]
        writer.write("\r\n".join([*head, "Accept: */*", "Connection: close", "", ""]).encode())
        words = (await reader.readline()).split()
        if len(words) < 2:
            raise ValueError("malformed HTTP response")
        return int(words[1])
    finally:
        writer.transport.abort()


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
