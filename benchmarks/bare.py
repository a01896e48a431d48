"""Baseline: an ASGI handler that does nothing, behind the same server, TLS and limits.

``/small`` responds with ``--small-bytes``, ``/large`` streams ``--large-bytes`` in chunks, POST reads its body and
responds as ``/small``.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

import uvloop

from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.apiserver.server.http1.tls import TLSFiles, tls_context
from steersman.asynckit.clock import RealClock

PIECE_BYTES = 128 * 1024


class Bare:
    """ASGI handler of one ``if`` and two sends."""

    def __init__(self, small: bytes, large: bytes) -> None:
        self.small = small
        self.large = large
        self.headers = [(b"content-type", b"application/json"), (b"content-length", str(len(small)).encode())]

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["method"] == "POST":
            while (await receive()).get("more_body"):
                pass
        if scope["path"] == "/large":
            await send({"type": "http.response.start", "status": 200, "headers": self.headers[:1]})
            for at in range(0, len(self.large), PIECE_BYTES):
                await send({"type": "http.response.body", "body": self.large[at : at + PIECE_BYTES], "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.small})


async def serve(arguments: argparse.Namespace) -> None:
    app = Bare(b"x" * arguments.small_bytes, b"x" * arguments.large_bytes)
    serving = Serving(app, clock=RealClock())  # type: ignore[arg-type]
    sock = listen("127.0.0.1", 0)
    # Requested as by the API server, but not used here.
    files = TLSFiles(arguments.pki / "apiserver.crt", arguments.pki / "apiserver.key", (arguments.pki / "ca.crt",))
    await serving.start(sock, tls_context(files))
    print(sock.getsockname()[1], flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pki", type=Path, required=True)
    parser.add_argument("--small-bytes", type=int, default=500)
    parser.add_argument("--large-bytes", type=int, default=5_000_000)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
