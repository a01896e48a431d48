"""A reverse proxy that injects faults between clients and an API server, over TCP."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

import aiohttp
import msgspec
from aiohttp import web
from multidict import CIMultiDict
from tests.conformance.informer.faults import status
from yarl import URL

from steersman.asynckit.clock import RealClock
from steersman.client.aiohttp_transport import tls_context
from steersman.client.credentials import Identity
from steersman.client.kubeconfig import load_kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from random import Random

#: Headers of one connection, which a proxy does not forward.
_HOP_BY_HOP = frozenset({"connection", "host", "keep-alive", "transfer-encoding", "content-length"})


class Plan(Protocol):
    """Chooses the faults; the kinds are those of ``tests.conformance.informer.faults.Faults``."""

    dice: Random

    def for_request(self, request: web.BaseRequest) -> str:
        """Return the fault of a request; empty: none."""

    def for_piece(self) -> str:
        """Return the fault of a piece of a stream; empty: none."""


class FaultProxy:
    """Serves HTTP without TLS, and authenticates clients that send no token with the kubeconfig's certificate."""

    def __init__(self, kubeconfig: Path, plan: Plan) -> None:
        self._kubeconfig = kubeconfig
        self._plan = plan
        self.address = ""
        self._clock = RealClock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[FaultProxy]:
        """Serve until the block ends."""
        access = load_kubeconfig(self._kubeconfig)
        identity = await access.credentials.identity()
        self._server = access.server
        timeout = aiohttp.ClientTimeout(total=None)
        runner = web.ServerRunner(web.Server(self._handle, handler_cancellation=True), shutdown_timeout=0.1)
        async with (
            aiohttp.ClientSession(connector=_connector(tls_context(access, identity)), timeout=timeout) as as_admin,
            aiohttp.ClientSession(connector=_connector(tls_context(access, Identity())), timeout=timeout) as with_token,
        ):
            self._as_admin, self._with_token = as_admin, with_token
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            self.address = f"http://{host}:{port}"
            try:
                yield self
            finally:
                await runner.cleanup()

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for clients of this proxy."""
        tree = {
            "apiVersion": "v1", "kind": "Config", "current-context": "faulty",
            "clusters": [{"name": "faulty", "cluster": {"server": self.address}}],
            "users": [{"name": "faulty", "user": {}}],
            "contexts": [{"name": "faulty", "context": {"cluster": "faulty", "user": "faulty"}}],
        }  # fmt: skip
        path.write_bytes(msgspec.json.encode(tree))
        return path

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        fault = self._plan.for_request(request)
        if fault == "slow":
            await self._clock.sleep(self._plan.dice.uniform(0.05, 2))
        elif fault == "lost":
            return _reset(request)
        elif fault.isdigit():
            headers = {"Retry-After": "1"} if fault == "429" else {}
            return web.Response(
                status=int(fault), body=status(int(fault)), content_type="application/json", headers=headers
            )
        if fault == "duplicate":
            async with self._forward(request, body) as first:
                await first.read()
        async with self._forward(request, body) as answer:
            if fault == "answer lost":
                await answer.read()
                return _reset(request)
            return await self._relay(request, answer)

    def _forward(self, request: web.BaseRequest, body: bytes) -> aiohttp.client._RequestContextManager:
        session = self._with_token if "Authorization" in request.headers else self._as_admin
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP]
        url = URL(self._server + request.raw_path, encoded=True)
        return session.request(
            request.method, url, data=body or None, headers=headers, skip_auto_headers=["Content-Type"]
        )

    async def _relay(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        headers = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP]
        if "watch" not in request.query:
            return web.Response(status=answer.status, body=await answer.read(), headers=_multi(headers))
        relayed = web.StreamResponse(status=answer.status, headers=_multi(headers))
        await relayed.prepare(request)
        async for piece in answer.content.iter_any():
            fault = self._plan.for_piece()
            if fault in ("cut", "cut inside"):
                at = self._plan.dice.randrange(len(piece)) if fault == "cut inside" else 0
                await relayed.write(piece[:at])
                return _reset(request)
            if fault == "end":
                break
            await relayed.write(piece)
        await relayed.write_eof()
        return relayed


def _connector(ssl_context: object) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(limit=0, ssl=ssl_context)  # type: ignore[arg-type]


def _multi(headers: list[tuple[str, str]]) -> CIMultiDict[str]:
    return CIMultiDict(headers)


def _reset(request: web.BaseRequest) -> web.Response:
    """Cut the connection of a request; what is returned goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
