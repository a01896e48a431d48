"""Validating webhook that allows everything, as cheap as asyncio permits, so that measured is the API server's part.

It answers each AdmissionReview with its uid, without decoding the review. ``python -m benchmarks.webhook_server --pki DIR``
prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ssl
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import uvloop

from benchmarks.client import Target
from benchmarks.servers import loop_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

_UID_BYTES = 36
_UID = b'"uid":"'
_BEFORE = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"allowed":true,"uid":"'
_AFTER = b'"}}'
_HEAD = (
    f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(_BEFORE) + _UID_BYTES + len(_AFTER)}\r\n\r\n"
).encode()


class _Allow(asyncio.Protocol):
    """Connection of one client, which sends a request after the previous answer."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        data = self._data = self._data + data
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = data[:end].lower()
        at = head.find(b"content-length: ")
        length = int(head[at + 16 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(data) < end + 4 + length:
            return
        self._data = b""
        uid_at = data.find(_UID, end) + len(_UID)
        uid = data[uid_at : uid_at + _UID_BYTES] if length else b" " * _UID_BYTES
        self._transport.write(_HEAD + _BEFORE + uid + _AFTER)


async def _serve(pki: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
    server = await asyncio.get_running_loop().create_server(_Allow, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


@contextlib.contextmanager
def webhook_server(pki: Path) -> Iterator[Target]:
    """Run the webhook in a process of its own, with the API server's certificate."""
    command = [sys.executable, "-m", "benchmarks.webhook_server", "--pki", str(pki)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Target("127.0.0.1", port, str(pki / "ca.crt"), "", loop_seconds=partial(loop_seconds, process.pid))
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pki", type=Path, required=True)
    uvloop.run(_serve(parser.parse_args().pki))


if __name__ == "__main__":
    main()
