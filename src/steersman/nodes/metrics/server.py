"""HTTPS server of the metrics API. Only API servers may connect, with a client certificate of the front-proxy CA. They have
authenticated and authorized the request, so the user in ``X-Remote-*`` is not reviewed again.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from aiohttp import web

from steersman.apimachinery.codec import encode
from steersman.apimachinery.errors import StatusError
from steersman.client.errors import ClientError
from steersman.nodes.bound_pods import NODES, PODS
from steersman.nodes.metrics import openapi
from steersman.nodes.metrics.api import Lookup, MetricsAPI
from steersman.nodes.metrics.registration import HOST, OtherServerError, front_proxy_ca, register, unregister
from steersman.runtime.http_listener import listener_runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.nodes.metrics.usage import ContainerUsage
    from steersman.runtime.context import ControllerContext

_log: Final = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 2.0


class ServingPems(NamedTuple):
    """Serving certificate for ``HOST``, its key and its CA, in PEM."""

    certificate: bytes
    key: bytes
    ca: bytes


def server_tls(pems: ServingPems, client_ca: bytes) -> ssl.SSLContext:
    """Return a TLS context that requires client certificates of a CA. Raises ``ssl.SSLError``, ``OSError``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as directory:
        certificate, key = Path(directory, "tls.crt"), Path(directory, "tls.key")
        certificate.write_bytes(pems.certificate)
        key.touch(mode=0o600)
        key.write_bytes(pems.key)
        context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=client_ca.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class MetricsServer:
    """Server of the API on a free loopback port, which is registered in the cluster while it runs."""

    name: ClassVar[str] = "metrics-server"

    def __init__(
        self, context: ControllerContext, usage: ContainerUsage, make_pems: Callable[[list[str]], ServingPems]
    ) -> None:
        """``make_pems`` returns a serving certificate for host names; it runs in a thread."""
        self._client: Final = context.client
        self._clock: Final = context.clock
        self._make_pems: Final = make_pems
        pods, nodes = context.informers.informer(PODS), context.informers.informer(NODES)
        lookup = Lookup(lambda: list(nodes.lister), lambda: [pod for pod in pods.lister if pod["spec"].get("nodeName")])
        self._api: Final = MetricsAPI(lookup, usage, clock=context.clock)
        self._stop: Final = asyncio.Event()
        #: True once the server is registered.
        self.is_ready = False

    def stop(self) -> None:
        """End ``run``."""
        self._stop.set()

    async def run(self) -> None:
        """Run until ``stop``."""
        stopping = asyncio.create_task(self._stop.wait(), name="stop of the metrics server")
        serving = asyncio.create_task(self._serve(), name="metrics server")
        try:
            await asyncio.wait([stopping, serving], return_when=asyncio.FIRST_COMPLETED)
            if self.is_ready or serving.done():  # a registered server unregisters before it ends
                await serving
        finally:
            for task in (stopping, serving):
                task.cancel()
            await asyncio.gather(stopping, serving, return_exceptions=True)

    async def _serve(self) -> None:
        pems = await asyncio.to_thread(self._make_pems, [HOST])
        tls = await asyncio.to_thread(server_tls, pems, await self._client_ca())
        runner = listener_runner(self.handle, shutdown_seconds=_STOP_SECONDS)
        await runner.setup()
        try:
            sock = socket.create_server(("127.0.0.1", 0))
            await web.SockSite(runner, sock, ssl_context=tls).start()
            if await self._register(sock.getsockname()[1], pems.ca):
                self.is_ready = True
                try:
                    await self._stop.wait()
                finally:
                    await unregister(self._client)
        finally:
            await runner.cleanup()

    async def _client_ca(self) -> bytes:
        """Return the front-proxy CA; wait until the cluster publishes it."""
        while True:
            try:
                if certificate := await front_proxy_ca(self._client):
                    return certificate
            except ClientError as error:
                _log.info("the front-proxy CA cannot be read: %s", error)
            await self._clock.sleep(_RETRY_SECONDS)

    async def _register(self, port: int, ca: bytes) -> bool:
        """Register, with retries; return False if another metrics server is registered."""
        while True:
            try:
                await register(self._client, port, ca)
            except OtherServerError as error:
                _log.error("%s: usage of simulated nodes is not served", error)
                return False
            except ClientError as error:
                _log.warning("the metrics server cannot be registered: %s", error)
                await self._clock.sleep(_RETRY_SECONDS)
            else:
                return True

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle one request."""
        match request.path.strip("/"):
            case "healthz" | "readyz" | "livez":
                return web.Response(text="ok")
            case "openapi/v3":
                return _json(openapi.index())
            case path if path == f"openapi/v3/{openapi.PATH}":
                return _json(openapi.document())
        try:
            return _json(self._api.answer(request.method, request.path, dict(request.query)))
        except StatusError as error:
            return _json(error.status, code=error.code)


def _json(tree: Any, *, code: int = 200) -> web.Response:
    return web.Response(body=encode(tree), status=code, content_type="application/json")
