"""One API server, put together from its options: files → store → registry → chain → application → listening.

This is the composition root: the only place that knows which body every interface gets.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import path_not_found
from steersman.apiserver.endpoints import process_metrics
from steersman.apiserver.endpoints.health import Check, HealthEndpoint, Unhealthy, ping
from steersman.apiserver.endpoints.metrics import MetricsEndpoint
from steersman.apiserver.endpoints.version import VersionEndpoint
from steersman.apiserver.filters.fairness import InFlight
from steersman.apiserver.filters.request_metrics import RequestMetrics
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.chain import ChainOptions, build_chain
from steersman.apiserver.server.loopback import Loopback
from steersman.apiserver.server.routes import ANY_METHOD, Routes
from steersman.apiserver.server.serving import Serving, TLSFiles, listen, tls_context
from steersman.asynckit.clock import RealClock
from steersman.controlplane.access import build_authenticator, build_authorizer
from steersman.controlplane.kubeconfig import Access, write_kubeconfig
from steersman.controlplane.options import OptionError, default_data_dir
from steersman.controlplane.pki import PKI, ensure_pki, server_names
from steersman.controlplane.post_start import PostStartHooks
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    import socket

    from steersman.apiserver.http import Request, Response
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

_log = logging.getLogger(__name__)

#: Name of cluster, user and context in kubeconfigs.
CONTEXT = "steersman"


class APIServer:
    """A running API server. ``start`` makes one; ``stop`` it once."""

    def __init__(self, options: APIServerOptions, *, clock: Clock) -> None:
        self.options = options
        self._clock = clock
        self._temporary: Path | None = None
        self._store: Store | None = None
        self._serving: Serving | None = None
        self._stopping = False
        self.address = ""
        self.access: Access
        self.kubeconfig: Path

    @classmethod
    async def start(cls, options: APIServerOptions, *, clock: Clock | None = None) -> APIServer:
        """Ready when it returns. Raises ``OptionError``, ``OSError``, ``ssl.SSLError`` and what opening the store raises."""
        server = cls(options, clock=clock or RealClock())
        try:
            await server._start()
        except BaseException:
            await server.stop(grace_seconds=0)
            raise
        return server

    @property
    def url(self) -> str:
        """Where clients on this machine reach it."""
        return self.access.server

    async def _start(self) -> None:
        options = self.options
        token = secrets.token_urlsafe(32)
        authenticator = build_authenticator(options, loopback_token=token)
        authorizer = build_authorizer(options)
        directory = self._directory()
        self._store = await self._open_store(directory)
        pki = ensure_pki(directory / "pki", self._names(), now=self._clock.now())
        sock = self._listen()
        tls = tls_context(self._tls_files(pki))

        in_flight = InFlight()
        metrics = RequestMetrics(in_flight)
        routes = Routes()
        hooks = PostStartHooks()
        chain_options = ChainOptions(
            authenticator=authenticator,
            authorizer=authorizer,
            metrics=metrics,
            in_flight=in_flight,
            reading_max=options.max_requests_inflight,
            mutating_max=options.max_mutating_requests_inflight,
        )
        app = Application(
            build_chain(chain_options, resources=_no_resources, routes=routes),
            clock=self._clock,
            timeout_seconds=options.request_timeout_seconds,
        )
        agent = f"kube-apiserver/{KUBERNETES_VERSION}"
        client = Loopback(app, headers={"authorization": f"Bearer {token}", "user-agent": agent})
        del client
        self._add_routes(routes, metrics, hooks)
        self._serving = Serving(app, clock=self._clock)
        await self._serving.start(sock, tls)
        self._write_kubeconfig(pki, directory)
        await hooks.run()

    def _directory(self) -> Path:
        """Where the server keeps its files, made when missing. Without a name an ephemeral server gets a temporary one."""
        directory = self.options.data_dir
        if directory is None and self.options.ephemeral:
            self._temporary = directory = Path(tempfile.mkdtemp(prefix="steersman-"))
        directory = directory or default_data_dir()
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        return directory

    async def _open_store(self, directory: Path) -> Store:
        if self.options.ephemeral:
            from steersman.storage.memory import MemoryStore  # noqa: PLC0415 — a start loads one of the two

            return MemoryStore(clock=self._clock)
        from steersman.storage.sqlite.store import SqliteStore  # noqa: PLC0415

        return await SqliteStore.open(directory / "state.db", clock=self._clock)

    def _names(self) -> list[str]:
        try:
            return server_names(
                self.options.service_cluster_ip_range, self.options.bind_address, self.options.advertise_address
            )
        except (ValueError, IndexError) as error:
            raise OptionError(f"--service-cluster-ip-range: {error}") from error

    def _listen(self) -> socket.socket:
        host, port = self.options.bind_address, self.options.secure_port
        try:
            sock = listen(host, port)
        except OSError as error:
            raise OptionError(f"cannot listen on {host} port {port}: {error.strerror or error}") from error
        port = sock.getsockname()[1]
        reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 — compared, not listened on
        self.address = f"[{reachable}]:{port}" if ":" in reachable else f"{reachable}:{port}"
        return sock

    def _tls_files(self, pki: PKI) -> TLSFiles:
        options = self.options
        if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
            raise OptionError("--tls-cert-file and --tls-private-key-file need each other")
        more = () if options.client_ca_file is None else (options.client_ca_file,)
        return TLSFiles(
            options.tls_cert_file or pki.server.certificate,
            options.tls_private_key_file or pki.server.key,
            (pki.ca.certificate, *more),
        )

    def _write_kubeconfig(self, pki: PKI, directory: Path) -> None:
        # With a certificate of the user's own, that is also what clients have to trust.
        ca = self.options.tls_cert_file or pki.ca.certificate
        self.access = Access(CONTEXT, f"https://{self.address}", ca, pki.admin)
        self.kubeconfig = self.options.kubeconfig or directory / "admin.kubeconfig"
        write_kubeconfig(self.kubeconfig, self.access)

    def _add_routes(self, routes: Routes, metrics: RequestMetrics, hooks: PostStartHooks) -> None:
        del hooks
        scrape = MetricsEndpoint()
        scrape.add(metrics.collect)
        scrape.add(process_metrics.collect)
        routes.add("/metrics", scrape, methods=ANY_METHOD)
        version = VersionEndpoint()
        routes.add("/version", version)
        routes.add("/version/", version)
        common = [Check("ping", ping), Check("log", ping), Check("etcd", self._check_store)]
        for name, checks in (
            ("healthz", common),
            ("livez", common),
            ("readyz", [*common, Check("etcd-readiness", self._check_store), Check("informer-sync", ping)]),
        ):
            endpoint = HealthEndpoint(
                name, [*checks, *([Check("shutdown", self._check_shutdown)] if name == "readyz" else [])]
            )
            for path, handler in endpoint.handlers().items():
                routes.add(path, handler, methods=ANY_METHOD)

    async def _check_store(self) -> None:
        assert self._store is not None
        await self._store.current_revision()

    async def _check_shutdown(self) -> None:
        if self._stopping:
            raise Unhealthy("process is shutting down")

    async def stop(self, *, grace_seconds: float | None = None) -> None:
        """Drain and close; ``grace_seconds`` (``drain_seconds`` of the options) bounds how long requests may finish."""
        self._stopping = True
        grace = self.options.drain_seconds if grace_seconds is None else grace_seconds
        if self._serving is not None:
            await self._serving.stop(grace_seconds=grace)
        if self._store is not None:
            await self._store.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


async def _no_resources(request: Request) -> Response:
    del request
    raise path_not_found()
