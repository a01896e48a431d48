"""One API server as a process: a core with files, certificates and a port."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.durations import format_duration
from steersman.apimachinery.gotext import errno_text
from steersman.apiserver.authn.client_certificate import digests_of
from steersman.apiserver.proxying.connections import client_tls
from steersman.apiserver.server.http1.connection import ServerConnection
from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.apiserver.server.http1.tls import TLSFileError, TLSFiles, load_cert_chain
from steersman.apiserver.workers import are_workers_busy
from steersman.asynckit.clock import RealClock
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.authentication.service_account_keys import ServiceAccountKeys
from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo
from steersman.controlplane.bootstrap.public_address import PublicEndpoint, public_address
from steersman.controlplane.core import ServerCore
from steersman.controlplane.cyclic_garbage import OldGeneration
from steersman.controlplane.dynamic_certificates import DynamicCertificates
from steersman.controlplane.file_follower import FileFollower
from steersman.controlplane.kubeconfig import Access, write_kubeconfig
from steersman.controlplane.memory import process_trimmer
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import OptionError, default_data_dir
from steersman.controlplane.pki import PKI, PKIError, ensure_pki, server_names
from steersman.controlplane.resources import HEARTBEAT_PREFIXES
from steersman.controlplane.serving_certificates import ANY_ADDRESS
from steersman.controlplane.tls_options import named_cert_keys, tls_policy
from steersman.extras import load_optional

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from steersman.apiserver.health.component_probes import Components
    from steersman.apiserver.server.http1.state import ServerState
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authentication.external_signer import ExternalSigner
    from steersman.controlplane.debug_socket import DebugSocket
    from steersman.controlplane.encryption import EncryptionAtRest
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

_log = logging.getLogger(__name__)


def context_name(name: str) -> str:
    """Return the name of cluster, user and context in kubeconfigs, for a control plane of that name."""
    return f"steersman-{name}" if name else "steersman"


class APIServer:
    """Running API server, created by ``start``. Call ``stop`` once."""

    def __init__(self, options: APIServerOptions, *, clock: Clock, makes_service_accounts: bool = False) -> None:
        self.options = options
        self._makes_service_accounts = makes_service_accounts
        self._key_file: asyncio.Task[Path | None] | None = None
        self._clock = clock
        self._temporary: Path | None = None
        self._core: ServerCore | None = None
        self._serving: Serving | None = None
        self._certificates: DynamicCertificates | None = None
        self._debug_socket: DebugSocket | None = None
        self._client_certificates: tuple[FileFollower, ...] = ()
        self._tasks = Supervisor("API server process")
        #: URL and credentials of the admin.
        self.access: Access
        #: Kubeconfig file of the admin.
        self.kubeconfig: Path
        #: Certificates and keys of the server.
        self.pki: PKI

    @classmethod
    async def start(
        cls, options: APIServerOptions, *, clock: Clock | None = None, makes_service_accounts: bool = False
    ) -> APIServer:
        """Return a server that is ready. Raises ``OptionError``, ``OSError`` (``ssl.SSLError`` is one), ``StoreError``.

        ``makes_service_accounts``: create the ServiceAccounts ``default`` of system namespaces before the server is ready, in
        place of the serviceaccount controller; pods require them. For servers with controllers.
        """
        server = cls(options, clock=clock or RealClock(), makes_service_accounts=makes_service_accounts)
        try:
            await server._start()
        except BaseException:
            await server.stop(grace_seconds=0)
            raise
        return server

    @property
    def url(self) -> str:
        """Return the URL for clients on this machine."""
        return self.access.server

    @property
    def components(self) -> Components:
        """Probes of the other components, for ``componentstatuses``."""
        assert self._core is not None
        return self._core.resources.components

    async def account_key_file(self) -> Path | None:
        """Return the file of the service account signing key, for the token controller; None if it is in memory."""
        assert self._core is not None
        return await (self._key_file or self._core.keys.signing_file())

    async def _start(self) -> None:
        for warning in check_options(self.options):
            _log.warning("%s", warning)
        directory = self._directory()
        new_connection = self._connection_factory()
        self._core = core = await self._create_core(directory)
        core.defaults.makes_service_accounts = self._makes_service_accounts
        if self._makes_service_accounts:  # the controllers will read the key, whose creation is slow
            self._key_file = asyncio.create_task(core.keys.signing_file(), name="service account key")
        self._certificates = certificates = self._load_certificates(core, directory)
        address = self._public_address()
        authentication = self._authentication_info()
        self._trust(authentication)
        sock = self._listen()
        port = sock.getsockname()[1]
        core.address = external_address(self.options, port)
        if core.bootstrap is not None:
            core.bootstrap.public_endpoint = PublicEndpoint(address, port) if address else None
            core.bootstrap.authentication = authentication
        self._serving = Serving(core.app, clock=self._clock, handshakes=core.handshakes, new_connection=new_connection)
        await self._serving.start(sock, certificates.tls.context)
        self._tasks.start("TLS files", certificates.run())
        self._follow_client_certificates(core)
        await self._start_debug_socket(core)
        self._write_kubeconfig(self.pki, directory, port)
        self._start_memory_tasks()
        await core.start()

    async def _create_core(self, directory: Path) -> ServerCore:
        """Return the server's core on its opened store."""
        encryption = await self._encryption()
        store = signer = None
        try:
            signer = await self._signer()
            store = await self._open_store(directory)
            if encryption is not None:
                store = encryption.wrap_all(store, root=self.options.etcd_prefix.rstrip("/"))
            core = ServerCore(
                self.options,
                store,
                clock=self._clock,
                keys=None if signer is not None else self._keys(directory),
                with_bootstrap_controller=True,
                encryption=encryption,
                signer=signer,
            )
        except BaseException:
            if signer is not None:
                await signer.close()
            if store is not None:
                await store.close()
            if encryption is not None:
                await encryption.close()
            raise
        if encryption is not None:
            encryption.on_key_change = core.resources.registry.mark_stale
        return core

    def _load_certificates(self, core: ServerCore, directory: Path) -> DynamicCertificates:
        """Create missing certificates; return the TLS of the server. Raises ``OptionError``."""
        try:
            self.pki = pki = ensure_pki(directory / "pki", self._names(), now=self._clock.now())
            certificates = DynamicCertificates(
                self._tls_files(pki),
                named_cert_keys(self.options),
                address="" if self.options.bind_address in ANY_ADDRESS else self.options.bind_address,
                read_authorities=self._authentication_info,
                apply_authorities=self._change_authorities,
                clock=self._clock,
            )
            core.resources.connections.kubelet_tls = self._kubelet_tls()
            core.aggregator.identity = self._front_proxy_identity()
        except (PKIError, TLSFileError) as error:
            raise OptionError(str(error)) from error
        except ValueError as error:  # files that ``check_options`` has not read
            raise OptionError(
                f"--data-dir: {directory / 'pki'} holds a damaged certificate or key; remove it to have all recreated"
            ) from error
        return certificates

    def _trust(self, authentication: AuthenticationInfo) -> None:
        """Authenticate clients and front proxies by their authorities."""
        assert self._core is not None
        authorities = self._core.certificate_authorities
        authorities.clients = digests_of(authentication.client_ca)
        authorities.front_proxies = digests_of(authentication.request_header_client_ca)

    async def _change_authorities(self, authentication: AuthenticationInfo) -> None:
        """Trust and publish other authorities. Raises ``ClientError``."""
        assert self._core is not None
        self._trust(authentication)
        if self._core.bootstrap is not None:
            self._core.bootstrap.authentication = authentication
            await self._core.bootstrap.publish_authentication()

    def _public_address(self) -> str:
        """Return the address for the Endpoints ``kubernetes``; empty, with a warning, if there is none."""
        address = public_address(self.options)
        if not address and self.options.endpoint_reconciler_type != "none":
            _log.warning("this machine has no address that others could reach: the Endpoints kubernetes are left alone")
        return address

    async def _start_debug_socket(self, core: ServerCore) -> None:
        """Serve profiles without authentication, if a path is given. Raises ``OptionError``."""
        if self.options.debug_socket_path is None:
            return
        from steersman.controlplane.debug_socket import DebugSocket  # noqa: PLC0415 — few servers have one

        path = self.options.debug_socket_path
        self._debug_socket = DebugSocket(path, clock=self._clock, on_verbosity=core.set_request_log)
        await self._debug_socket.start()

    def _start_memory_tasks(self) -> None:
        trimmer = process_trimmer(self._clock, is_busy=are_workers_busy)
        if trimmer is not None:
            self._tasks.start("memory trimmer", trimmer.run())
        self._tasks.start("garbage collection", OldGeneration(self._clock, is_busy=are_workers_busy).run())

    def _follow_client_certificates(self, core: ServerCore) -> None:
        """Use the client certificates for kubelets and aggregated API servers that replace the files in use."""

        async def renew_kubelets() -> None:
            core.resources.connections.kubelet_tls = self._kubelet_tls()

        async def renew_backends() -> None:
            self._front_proxy_identity()
            core.aggregator.renew_connections()

        authority = self.options.kubelet_certificate_authority
        paths = [*self._kubelet_identity(), *([] if authority is None else [authority])]
        self._client_certificates = (
            FileFollower(paths, renew_kubelets, clock=self._clock),
            FileFollower(self._front_proxy_identity(), renew_backends, clock=self._clock),
        )
        for follower in self._client_certificates:
            self._tasks.start("client certificates", follower.run())

    def _kubelet_identity(self) -> tuple[Path, Path]:
        """Return the files of the client certificate for kubelets."""
        options, own = self.options, self.pki.kubelet_client
        return options.kubelet_client_certificate or own.certificate, options.kubelet_client_key or own.key

    def _kubelet_tls(self) -> ssl.SSLContext:
        """Return a context with the client certificate for kubelets, and the authorities that verify theirs.

        Raises ``TLSFileError``, ``OSError``.
        """
        options, context = self.options, client_tls()
        load_cert_chain(context, *self._kubelet_identity())
        if options.kubelet_certificate_authority is not None:
            context.load_verify_locations(options.kubelet_certificate_authority)
            context.verify_mode = ssl.CERT_REQUIRED
            context.check_hostname = True
        return context

    def _front_proxy_identity(self) -> tuple[Path, Path]:
        """Return the files of the client certificate for aggregated API servers. Raises ``TLSFileError``."""
        pki = self.pki
        certificate = self.options.proxy_client_cert_file or pki.front_proxy_client.certificate
        key = self.options.proxy_client_key_file or pki.front_proxy_client.key
        load_cert_chain(client_tls(), certificate, key)
        return certificate, key

    def _authentication_info(self) -> AuthenticationInfo:
        """Return the authorities and front proxy headers to publish for aggregated API servers. Raises ``OSError``."""
        options, pki = self.options, self.pki
        more = () if options.client_ca_file is None else (options.client_ca_file,)
        return AuthenticationInfo(
            client_ca="".join(path.read_text() for path in (pki.ca.certificate, *more)),
            request_header_client_ca=(
                options.requestheader_client_ca_file or pki.front_proxy_ca.certificate
            ).read_text(),
            username_headers=options.requestheader_username_headers,
            uid_headers=options.requestheader_uid_headers,
            group_headers=options.requestheader_group_headers,
            extra_header_prefixes=options.requestheader_extra_headers_prefix,
            allowed_names=options.requestheader_allowed_names,
        )

    def _directory(self) -> Path:
        """Return the server's directory, created if missing; a temporary one for an ephemeral server without a name."""
        directory = self.options.data_dir
        if directory is None and self.options.ephemeral:
            self._temporary = directory = Path(tempfile.mkdtemp(prefix="steersman-"))
        directory = directory or default_data_dir(self.options.name)
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise OptionError(f"--data-dir: cannot create {directory}: {errno_text(error)}") from error
        return directory

    async def _encryption(self) -> EncryptionAtRest | None:
        """Return the encryption of ``--encryption-provider-config``; None without the flag. Raises ``OptionError``."""
        path = self.options.encryption_provider_config
        if path is None:
            return None
        from steersman.controlplane.encryption import EncryptionAtRest  # noqa: PLC0415 — loads cryptography

        reloads = self.options.encryption_provider_config_automatic_reload
        return await EncryptionAtRest.open(path, reloads=reloads, clock=self._clock)

    async def _open_store(self, directory: Path) -> Store:
        if self.options.ephemeral:
            from steersman.storage.memory import MemoryStore  # noqa: PLC0415 — a start loads one of the two

            return MemoryStore(clock=self._clock, squash_prefixes=HEARTBEAT_PREFIXES)
        if self.options.etcd_servers:
            from steersman.controlplane.etcd import open_etcd_store  # noqa: PLC0415 — needs an extra

            return await open_etcd_store(self.options, clock=self._clock)
        from steersman.storage.sqlite.store import SqliteStore  # noqa: PLC0415

        return await SqliteStore.open(directory / "state.db", clock=self._clock, squash_prefixes=HEARTBEAT_PREFIXES)

    async def _signer(self) -> ExternalSigner | None:
        """Return the signer of ``--service-account-signing-endpoint``, and bound lifetimes of tokens by it; None without the flag.

        Raises ``OptionError``.
        """
        endpoint = self.options.service_account_signing_endpoint
        if not endpoint:
            return None
        from steersman.controlplane.authentication.external_signer import ExternalSigner  # noqa: PLC0415 — few servers have one

        signer = await ExternalSigner.open(endpoint, clock=self._clock)
        seconds, longest = self.options.service_account_max_token_expiration_seconds, float(signer.life_seconds_max)
        if seconds > longest:
            await signer.close()
            raise OptionError(
                "service-account-max-token-expiration cannot be set longer than the token expiration supported by"
                f" service-account-signing-endpoint: {format_duration(seconds)} > {format_duration(longest)}"
            )
        self.options = msgspec.structs.replace(
            self.options, service_account_max_token_expiration_seconds=seconds or longest
        )
        return signer

    def _keys(self, directory: Path) -> ServiceAccountKeys:
        options = self.options
        return ServiceAccountKeys(
            directory / "pki" / "sa.key",
            signing=options.service_account_signing_key_file,
            checking=options.service_account_key_file,
        )

    def _names(self) -> list[str]:
        options = self.options
        return server_names(options.service_cluster_ip_range, options.bind_address, options.advertise_address)

    def _listen(self) -> socket.socket:
        host, port = self.options.bind_address, self.options.secure_port
        try:
            return listen(host, port, shares_port=self.options.permit_port_sharing)
        except OSError as error:
            hint = "; --port=0 takes any free one" if error.errno == errno.EADDRINUSE else ""
            flag = "--bind-address" if error.errno == errno.EADDRNOTAVAIL else "--secure-port"
            raise OptionError(f"{flag}: cannot listen on {host} port {port}: {errno_text(error)}{hint}") from error

    def _connection_factory(self) -> Callable[[ServerState], Any]:
        """Return the factory of connections, of the versions of HTTP that are served. Raises ``MissingPackagesError``."""
        if self.options.disable_http2_serving:
            return ServerConnection
        load_optional("h2.connection", "H2Connection", "--disable-http2-serving=false", "http2")
        from steersman.apiserver.server.http2.limits import STREAMS_MAX  # noqa: PLC0415 — needs the extra
        from steersman.apiserver.server.http2.negotiation import negotiated  # noqa: PLC0415 — needs the extra

        return negotiated(self.options.http2_max_streams_per_connection or STREAMS_MAX)

    def _tls_files(self, pki: PKI) -> TLSFiles:
        options = self.options
        more = () if options.client_ca_file is None else (options.client_ca_file,)
        return TLSFiles(
            options.tls_cert_file or pki.server.certificate,
            options.tls_private_key_file or pki.server.key,
            (pki.ca.certificate, *more, options.requestheader_client_ca_file or pki.front_proxy_ca.certificate),
            tls_policy(options),
            ("http/1.1",) if options.disable_http2_serving else ("h2", "http/1.1"),
        )

    def _write_kubeconfig(self, pki: PKI, directory: Path, port: int) -> None:
        # A certificate of the user is also the one that clients must trust.
        ca = self.options.tls_cert_file or pki.ca.certificate
        self.access = Access(
            context_name(self.options.name), f"https://{_authority(self.options.bind_address, port)}", ca, pki.admin
        )
        self.kubeconfig = self.options.kubeconfig or directory / "admin.kubeconfig"
        try:
            write_kubeconfig(self.kubeconfig, self.access)
        except OSError as error:
            raise OptionError(f"--kubeconfig: cannot write {self.kubeconfig}: {errno_text(error)}") from error

    def begin_shutdown(self) -> None:
        """Fail ``/readyz``; all requests are still served. Idempotent."""
        if self._core is not None:
            self._core.begin_shutdown()

    async def _drain(self, core: ServerCore, serving: Serving, grace: float) -> None:
        """End watches, and wait for the requests in flight, each at most as long as the options allow.

        By default the port is closed first. With ``--shutdown-send-retry-after`` it stays open, and new requests are rejected.
        """
        if self.options.shutdown_send_retry_after:
            core.reject_requests()
            await core.drain_watches()
            await serving.drain(grace_seconds=grace)
        elif self.options.shutdown_watch_termination_grace_period_seconds:
            seconds = max(grace, self.options.shutdown_watch_termination_grace_period_seconds)
            async with asyncio.TaskGroup() as group:
                group.create_task(serving.stop(grace_seconds=seconds), name="HTTP server")
                group.create_task(core.drain_watches(), name="watches")

    async def stop(self, *, grace_seconds: float | None = None) -> None:
        """Shut down in upstream's order: fail ``/readyz``, withdraw the endpoint, drain requests, close.

        ``grace_seconds`` (default ``drain_seconds`` of the options) bounds the drain of requests. With 0 the endpoint stays
        published and ``--shutdown-delay-duration`` is skipped.
        """
        grace = self.options.drain_seconds if grace_seconds is None else grace_seconds
        self.begin_shutdown()
        if self._core is not None:
            if self._serving is not None and grace > 0:
                await self._core.run_pre_shutdown_hooks()
                await self._drain(self._core, self._serving, grace)
            self._core.end_watches()
        if self._serving is not None:
            await self._serving.stop(grace_seconds=grace)
        if self._debug_socket is not None:
            await self._debug_socket.stop()
        await self._tasks.close()
        if self._key_file is not None:
            await asyncio.wait([self._key_file])  # a thread writes the file, which cannot be cancelled
        if self._core is not None:
            await self._core.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def external_address(options: APIServerOptions, port: int) -> str:
    """Return host and port in discovery documents. Upstream: ``Config.Complete``."""
    host = options.external_hostname
    if not host:
        return _authority(options.advertise_address or options.bind_address, port)
    is_complete = host.count(":") == 1 or (host.startswith("[") and "]:" in host)
    return host if is_complete else _authority(host, port)


def _authority(host: str, port: int) -> str:
    """Return host and port of a URL that is reachable from this machine, even if the server listens on all addresses."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 — compared, not listened on
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
