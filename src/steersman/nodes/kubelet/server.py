"""HTTPS API of the kubelet, with one listener for all simulated nodes of the process; requests identify pods by name.

Clients must present a certificate of the trusted CA with the name of the API server's kubelet client or the group
``system:masters``.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from aiohttp import web

from steersman.apimachinery.codec import encode
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.zpages import JSON, negotiate_page
from steersman.asynckit.tasks import Supervisor
from steersman.nodes.kubelet.channel_socket import CHANNEL_PROTOCOLS, V5, ChannelSocket
from steersman.nodes.kubelet.channels import ChannelStreams
from steersman.nodes.kubelet.host import RequestError
from steersman.nodes.kubelet.log_lines import read_options
from steersman.nodes.kubelet.port_forward import PortForwarder, forward_channels
from steersman.nodes.kubelet.spdy_connection import UpgradedConnection, WebSocketConnection, is_spdy
from steersman.nodes.kubelet.spdy_forwarding import PORT_FORWARD_PROTOCOL, SpdyForwarding
from steersman.nodes.kubelet.spdy_streams import SPDY_PROTOCOLS, SpdyStreams
from steersman.nodes.kubelet.tunnel import tunnel_connection
from steersman.runtime.http_listener import listener_runner

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
    from pathlib import Path

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.zpages import PageContent
    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.host import Host, Streams
    from steersman.nodes.kubelet.node_pages import NodePage


#: Subprotocol of WebSockets that carry SPDY frames.
SPDY_FORWARDING: Final = f"SPDY/3.1+{PORT_FORWARD_PROTOCOL}"
_ALLOWED_NAME: Final = "kube-apiserver-kubelet-client"
_ALLOWED_GROUP: Final = "system:masters"
_STOP_SECONDS: Final = 2.0
#: Containers of simulated nodes and process pods are none that a runtime could save.
_NO_CHECKPOINTS: Final = "rpc error: code = Unimplemented desc = method CheckpointContainer not implemented"
_INTEGER: Final = "[+-]?[0-9]+"
#: Names of upstream's checks; simulated nodes always pass them.
_HEALTH_CHECKS: Final = ("ping", "log", "syncloop")


class Pods(NamedTuple):
    """Lookup of pods for the listener."""

    find: Callable[[str, str], Tree | None]
    #: Return the pod with an address; the oldest among several with hostNetwork.
    at: Callable[[str], Tree | None]
    all: Callable[[], Iterable[Tree]]


def kubelet_tls(*, certificate: Path, key: Path, client_ca: Path) -> ssl.SSLContext:
    """Return a TLS context that requires TLS 1.2 and client certificates. Raises ``OSError``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(client_ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class KubeletServer:
    """Kubelet server on ``sock``. The first of ``hosts`` that has a pod serves it."""

    name: ClassVar[str] = "kubelet-api"

    def __init__(
        self,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        *,
        pods: Pods,
        hosts: Sequence[Host],
        clock: Clock,
        metrics_page: Callable[[str], str | None] = lambda _path: None,
        component_page: Callable[[str], PageContent | None] = lambda _path: None,
        node_page: Callable[[str, str], NodePage | None] = lambda _path, _forwarded_uri: None,
    ) -> None:
        """``metrics_page`` returns the text of an additional page of metrics by its path, ``component_page`` the content of a
        page about the kubelet, ``node_page`` that of a page about a node by path and ``X-Forwarded-Uri``; None if absent.
        """
        self._sock = sock
        self._tls = tls
        self._pods = pods
        self._hosts = hosts
        self._clock = clock
        self._metrics_page = metrics_page
        self._component_page = component_page
        self._node_page = node_page
        self._stop = asyncio.Event()
        self.is_ready = False

    def stop(self) -> None:
        """End ``run``."""
        self._stop.set()

    async def run(self) -> None:
        """Run until ``stop``, which closes open streams."""
        runner = listener_runner(self.handle, shutdown_seconds=_STOP_SECONDS)
        await runner.setup()
        try:
            await web.SockSite(runner, self._sock, ssl_context=self._tls).start()
            self.is_ready = True
            await self._stop.wait()
        finally:
            await runner.cleanup()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle one request."""
        if self._tls is not None and not _is_allowed(request):
            return web.Response(status=403, text="Forbidden")
        try:
            return await self._route(request)
        except RequestError as error:
            return web.Response(status=error.code, text=str(error), headers=error.headers)

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "CONNECT":
            return await self._dial(request)
        match request.path.split("/")[1:]:
            case ["healthz"] if "verbose" in request.query:
                checks = "".join(f"[+]{check} ok\n" for check in _HEALTH_CHECKS)
                return web.Response(text=f"{checks}healthz check passed\n")
            case ["healthz"]:
                return web.Response(text="ok")
            case ["healthz", check] if check in _HEALTH_CHECKS:
                return web.Response(text="ok")
            case ["pods" | "runningpods"]:
                listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": list(self._pods.all())}
                return web.Response(body=encode(listed), content_type="application/json")
            case ["containerLogs", namespace, name, container]:
                return await self._logs(request, *self._container(namespace, name, container))
            case ["exec" | "attach" as verb, namespace, name, container]:
                return await self._streams(request, verb, *self._container(namespace, name, container))
            case ["portForward", namespace, name]:
                return await self._forward(request, self._pod(namespace, name))
            case ["checkpoint", namespace, name, container] if request.method == "POST":
                raise self._checkpoint_error(request, namespace, name, container)
        page = self._metrics_page(request.path)
        if page is not None:
            return web.Response(text=page)
        node_page = self._node_page(request.path, request.headers.get("X-Forwarded-Uri", ""))
        if node_page is not None:
            return web.Response(body=node_page.content, headers={"Content-Type": node_page.content_type})
        if request.path == "/metrics":
            return web.Response(text=self._metrics())
        content = self._component_page(request.path)
        if content is not None:
            return _rendered(request, content)
        return web.Response(status=404, text="404 page not found\n")

    def _metrics(self) -> str:
        """Return the metrics of all nodes together."""
        running = sum((pod.get("status") or {}).get("phase") == "Running" for pod in self._pods.all())
        return (
            "# HELP kubelet_running_pods [ALPHA] Number of pods that have a running pod sandbox\n"
            f"# TYPE kubelet_running_pods gauge\nkubelet_running_pods {running}\n"
        )

    def _pod(self, namespace: str, name: str) -> Tree:
        pod = self._pods.find(namespace, name)
        if pod is None:
            raise RequestError("pod does not exist", code=404)
        return pod

    def _container(self, namespace: str, name: str, container: str) -> tuple[Tree, str]:
        pod = self._pod(namespace, name)
        if not _has_container(pod, container):
            raise RequestError(f'container "{container}" not found in pod "{name}"', code=404)
        return pod, container

    def _checkpoint_error(self, request: web.BaseRequest, namespace: str, name: str, container: str) -> RequestError:
        """Return the error of a checkpoint: that of a container runtime without checkpoints, if the container exists.

        Upstream: ``Server.checkpoint`` (``pkg/kubelet/server/server.go``).
        """
        if not _has_container(self._pod(namespace, name), container):
            return RequestError(f"container {container} does not exist", code=404)
        if not re.fullmatch(_INTEGER, request.query.get("timeout", "0")):
            return RequestError("cannot parse value of timeout parameter", code=404)
        return RequestError(f"checkpointing of {namespace}/{name}/{container} failed ({_NO_CHECKPOINTS})", code=500)

    def _host(self, pod: Tree) -> Host:
        return next(host for host in self._hosts if host.has(pod))

    async def _logs(self, request: web.BaseRequest, pod: Tree, container: str) -> web.StreamResponse:
        try:
            options = read_options(request.query, now=self._clock.now())
        except ValueError as error:
            raise RequestError(str(error)) from error
        chunks = self._host(pod).logs(pod, container, options)
        first = await anext(chunks, None)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        try:
            if first is not None:
                await response.write(first)
                async for chunk in chunks:
                    await response.write(chunk)
        except ConnectionError:  # the client has disconnected
            return response
        await response.write_eof()
        return response

    async def _streams(self, request: web.BaseRequest, verb: str, pod: Tree, container: str) -> web.StreamResponse:
        requested = {name: request.query.get(name) in ("1", "true") for name in ("input", "output", "error", "tty")}
        if not any(requested[name] for name in ("input", "output", "error")):
            raise RequestError("you must specify at least 1 of stdin, stdout, stderr")
        streams, response = await self._open_streams(request, requested)
        host = self._host(pod)
        tasks = Supervisor(f"{verb} in {pod['metadata']['name']}")
        try:
            listening = tasks.start("client", streams.listen())
            opening = tasks.start("streams", streams.open())
            await asyncio.wait([listening, opening], return_when=asyncio.FIRST_COMPLETED)
            if opening.done() and opening.result():
                if verb == "exec":
                    work = host.execute(pod, container, request.query.getall("command", []), streams)
                else:
                    work = _attach(host, pod, container, streams)
                working = tasks.start("command", _outcome(work))
                await asyncio.wait([listening, working], return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    await streams.end(working.result())
        finally:
            await tasks.close()
        if isinstance(response, web.WebSocketResponse):
            await response.close()
        return response

    async def _open_streams(
        self, request: web.BaseRequest, requested: Mapping[str, bool]
    ) -> tuple[ChannelStreams | SpdyStreams, web.StreamResponse]:
        stdin, stdout, stderr, tty = (requested[name] for name in ("input", "output", "error", "tty"))
        if is_spdy(request):
            connection = await UpgradedConnection.upgrade(request, SPDY_PROTOCOLS)
            return SpdyStreams(
                connection, connection.protocol, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty, clock=self._clock
            ), connection.response
        socket = await _upgrade(request, CHANNEL_PROTOCOLS)
        channels = ChannelSocket(socket, clock=self._clock)
        return ChannelStreams(channels, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty), socket

    async def _forward(self, request: web.BaseRequest, pod: Tree) -> web.StreamResponse:
        forwarder = PortForwarder(self._host(pod), pod)
        if is_spdy(request):
            connection = await UpgradedConnection.upgrade(request, (PORT_FORWARD_PROTOCOL,))
            await SpdyForwarding(connection, forwarder, clock=self._clock).run()
            return connection.response
        socket = await _upgrade(request, (SPDY_FORWARDING, *(name for name in CHANNEL_PROTOCOLS if name != V5)))
        if socket.ws_protocol == SPDY_FORWARDING:
            await SpdyForwarding(WebSocketConnection(request, socket), forwarder, clock=self._clock).run()
        else:
            named = ",".join(request.query.getall("port", []) + request.query.getall("ports", []))
            ports = [int(port) for port in named.split(",") if port.isdigit()]
            await forward_channels(ChannelSocket(socket, clock=self._clock), ports, forwarder)
        await socket.close()
        return socket

    async def _dial(self, request: web.BaseRequest) -> web.StreamResponse:
        """Tunnel a connection to a pod's address, which only this process can reach. Errors have Go's texts."""
        address, _, port = request.raw_path.rpartition(":")
        pod = self._pods.at(address.strip("[]"))
        if pod is None or not port.isdigit():
            raise RequestError("connect: no route to host", code=502)
        try:
            connection = await self._host(pod).connect(pod, int(port))
        except RequestError as error:
            raise RequestError(f"connect: connection refused: {error}", code=502) from error
        except OSError as error:
            raise RequestError(f"connect: {os.strerror(error.errno or 0).lower()}", code=502) from error
        return await tunnel_connection(request, connection)


def _rendered(request: web.BaseRequest, content: PageContent) -> web.Response:
    try:
        form = negotiate_page(request.headers.get("Accept", ""), content.kind)
    except StatusError as error:
        return web.Response(status=error.code, body=encode(error.status) + b"\n", content_type=JSON)
    return web.Response(body=content.encode(form), headers={"Content-Type": form.content_type})


async def _attach(host: Host, pod: Tree, container: str, streams: Streams) -> int:
    """Attach to a container. Success is reported whatever its exit code, which clients read from the pod's status.

    Upstream: ``k8s.io/kubelet/pkg/cri/streaming/remotecommand/attach.go``.
    """
    await host.attach(pod, container, streams)
    return 0


async def _outcome(work: Coroutine[Any, Any, int]) -> int | RequestError:
    try:
        return await work
    except RequestError as error:
        return error


async def _upgrade(request: web.BaseRequest, protocols: Sequence[str]) -> web.WebSocketResponse:
    """Upgrade the request to a WebSocket, also without a subprotocol. Raises ``RequestError`` for other protocols."""
    offered = {name.strip() for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",")} - {""}
    if request.headers.get("Upgrade", "").lower() != "websocket" or (offered and not offered & set(protocols)):
        supported = ", ".join(protocols)
        raise RequestError(
            f"unable to upgrade: neither SPDY/3.1 nor a WebSocket with one of {supported}, or none", code=403
        )
    socket = web.WebSocketResponse(
        protocols=protocols, compress=False, max_msg_size=0, timeout=_STOP_SECONDS, autoping=False
    )
    await socket.prepare(request)
    return socket


def _has_container(pod: Tree, name: str) -> bool:
    spec = pod.get("spec") or {}
    kinds = ("containers", "initContainers", "ephemeralContainers")
    return any(container.get("name") == name for kind in kinds for container in spec.get(kind) or ())


def _is_allowed(request: web.BaseRequest) -> bool:
    certificate = request.transport.get_extra_info("peercert") if request.transport is not None else None
    subject = [pair for entry in (certificate or {}).get("subject", ()) for pair in entry]
    return ("commonName", _ALLOWED_NAME) in subject or ("organizationName", _ALLOWED_GROUP) in subject
