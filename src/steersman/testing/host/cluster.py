"""Cluster of a child process: an embedded cluster, its HTTPS port and its files."""

from __future__ import annotations

import os
import secrets
import socket
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.request import UserInfo
from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.asynckit.clock import RealClock
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import find, is_enabled
from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo
from steersman.controlplane.bootstrap.public_address import PublicEndpoint
from steersman.controlplane.kubeconfig import Access, write_kubeconfig
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.resources import HEARTBEAT_PREFIXES
from steersman.nodes.options import NodesOptions
from steersman.testing.clock import EPOCH, SteadyClock, VirtualClock
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.host.snapshots import ClusterSnapshot

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.controlplane.core import ServerCore
    from steersman.storage.store import Store
    from steersman.testing.host.options import ClusterOptions
    from steersman.testing.host.prepared import Prepared

_HOST: Final = "127.0.0.1"
_ADMIN: Final = UserInfo("admin", ("system:masters",), uid="admin-uid")
_ACCOUNT_CONTROLLER: Final = "serviceaccount-controller"


class HostedCluster:
    """One cluster: ``bind``, ``start``, ``serve``; or ``start``, a fork, and ``continue_forked``."""

    def __init__(self, options: ClusterOptions, prepared: Prepared, snapshot: ClusterSnapshot | None = None) -> None:
        """Without a snapshot it starts as a new cluster."""
        self._options: Final = options
        self._prepared: Final = prepared
        self._snapshot: Final = snapshot
        self._directory: Path
        self._socket: socket.socket
        self._serving: Serving | None = None
        self._first: ClusterSnapshot | None = None
        #: CPU time of this process until the cluster was ready.
        self.start_cpu_seconds = 0.0
        #: Directory of the cluster since ``bind``.
        self.port = APIServerOptions().secure_port
        #: Bearer token of a user in ``system:masters``, since ``bind``.
        self.token = ""
        self.embedded: EmbeddedCluster

    @property
    def has_accounts(self) -> bool:
        """Report whether a controller creates the ServiceAccount ``default`` of each namespace."""
        names = ("*",) if self._options.controllers is None else tuple(self._options.controllers)
        controller = find(_ACCOUNT_CONTROLLER)
        return controller is not None and bool(names) and is_enabled(controller, names)

    @property
    def url(self) -> str:
        """URL of the API server."""
        return f"https://{self._authority}"

    @property
    def _authority(self) -> str:
        return f"{_HOST}:{self.port}"

    @property
    def _public_endpoint(self) -> PublicEndpoint | None:
        """Endpoint to publish; None without a suitable address."""
        address = self._prepared.public_address
        return PublicEndpoint(address, self.port) if address else None

    @property
    def ca(self) -> Path:
        """CA certificate file of the server."""
        return self._prepared.shared.pki.ca.certificate

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the administrator."""
        return self._directory / "kubeconfig"

    def bind(self, directory: Path) -> None:
        """Bind a port, and write files into ``directory``."""
        self._directory = directory
        self._socket = listen(_HOST, 0)
        self.port = self._socket.getsockname()[1]
        self.token = secrets.token_hex(24)
        admin = self._prepared.shared.pki.admin
        write_kubeconfig(self.kubeconfig, Access("steersman", self.url, self.ca, admin))

    async def start(self) -> None:
        """Start the cluster; wait for a Ready node if it has nodes."""
        snapshot = self._first_snapshot()
        quiet_seconds = self._options.quiet_seconds
        clock: VirtualClock | SteadyClock = SteadyClock(quiet_seconds=quiet_seconds)
        if self._options.clock == "virtual":
            clock = VirtualClock(EPOCH if snapshot is None else snapshot.now, quiet_seconds=quiet_seconds)
        self.embedded = EmbeddedCluster(
            nodes=self._nodes(),
            controllers=self._options.controllers,
            scheduler=self._options.scheduler,
            clock=clock,
            seed=self._options.seed,
            store=await self._open_store(clock, snapshot),
            snapshot=None if snapshot is None or self._options.store != "memory" else snapshot.dump,
            feature_gates=self._options.feature_gates,
            options=self._server_options(),
            manager_options=self._manager_options(),
            configure=self._configure,
            scheduler_plugins=self._options.plugins(),
            scheduler_config=self._options.scheduler_config,
        )
        await self.embedded.start()
        self._first = snapshot

    async def continue_forked(self, directory: Path) -> None:
        """Continue a cluster that was started before the fork, in the forked process, and serve calls."""
        self.bind(directory)
        await self.embedded.continue_forked(self._public_endpoint, self._server_options())
        await self.serve()

    async def serve(self) -> None:
        """Serve on the port."""
        await self._serve()
        self.start_cpu_seconds = time.process_time()

    async def stop(self) -> None:
        """Stop gracefully. Not needed in a child process, whose exit stops everything."""
        if self._serving is not None:
            await self._serving.stop(grace_seconds=0)
        await self.embedded.stop()

    async def end(self) -> None:
        """End the cluster immediately; leave no tasks on the event loop."""
        await self.embedded.crash()
        await self.embedded.stop()

    def _first_snapshot(self) -> ClusterSnapshot | None:
        """Return the initial state; None if absent."""
        snapshot = self._snapshot
        if snapshot is None:
            snapshot = self._prepared.snapshots.get(self._options.is_whole)
            if snapshot is not None and self._options.clock == "real":
                snapshot = snapshot.moved(timedelta(seconds=int((SteadyClock().now() - EPOCH).total_seconds())))
        return None if snapshot is None else snapshot.with_port(self.port)

    async def _open_store(self, clock: VirtualClock | SteadyClock, snapshot: ClusterSnapshot | None) -> Store | None:
        """Return the store; None for the default in memory."""
        if self._options.store == "memory":
            return None
        from steersman.storage.sqlite.store import SqliteStore  # noqa: PLC0415 — rarely used
        from steersman.storage.store import Put  # noqa: PLC0415

        store = await SqliteStore.open(
            self._directory / "state.db",
            clock=clock,
            squash_prefixes=HEARTBEAT_PREFIXES,
            writer="thread",  # a thread starts faster than a process, and ends with this one
        )
        if snapshot is not None:
            await store.txn([Put(row.key, row.value) for row in snapshot.dump.rows])
        return store

    def _server_options(self) -> APIServerOptions:
        key = self._prepared.shared.account_key
        return APIServerOptions(
            ephemeral=True,
            # Requests take no virtual time, so fairness has no effect.
            enable_priority_and_fairness=self._options.clock == "real",
            secure_port=self.port,
            service_account_signing_key_file=key,
            service_account_key_file=(key,),
        )

    def _manager_options(self) -> ManagerOptions:
        pki = self._prepared.shared.pki
        return ManagerOptions(
            root_ca_file=str(self.ca),
            service_account_private_key_file=str(self._prepared.shared.account_key),
            cluster_signing_cert_file=str(pki.ca.certificate),
            cluster_signing_key_file=str(pki.ca.key),
        )

    def _nodes(self) -> NodesOptions:
        pki = self._prepared.shared.pki
        return NodesOptions(
            nodes=self._options.nodes,
            pod_events=False,
            kubelet_certificate_file=pki.kubelet.certificate,
            kubelet_key_file=pki.kubelet.key,
            kubelet_client_ca_file=pki.ca.certificate,
        )

    def _configure(self, core: ServerCore) -> None:
        """Configure the API server for a port, as ``controlplane.apiserver``."""
        prepared, pki = self._prepared, self._prepared.shared.pki
        core.resources.connections.kubelet_tls = prepared.kubelet_tls
        core.aggregator.identity = (pki.front_proxy_client.certificate, pki.front_proxy_client.key)
        core.certificate_authorities.clients = prepared.client_authorities
        core.certificate_authorities.front_proxies = prepared.front_proxy_authorities
        if core.bootstrap is not None:
            core.bootstrap.public_endpoint = self._public_endpoint
            options = APIServerOptions()
            core.bootstrap.authentication = AuthenticationInfo(
                client_ca=pki.ca.certificate.read_text(),
                request_header_client_ca=pki.front_proxy_ca.certificate.read_text(),
                username_headers=options.requestheader_username_headers,
                uid_headers=options.requestheader_uid_headers,
                group_headers=options.requestheader_group_headers,
                extra_header_prefixes=options.requestheader_extra_headers_prefix,
                allowed_names=options.requestheader_allowed_names,
            )

    async def _serve(self) -> None:
        core = self.embedded.core
        core.address = self._authority
        core.static_tokens.add(self.token, _ADMIN)
        # Timeouts of connections use real time, as their clients do. A Date header in virtual time would need a timer every
        # second.
        app = self.embedded.app
        self._serving = Serving(app, clock=RealClock(), on_connect=app.note_outside_activity)
        await self._serving.start(self._socket, self._prepared.serving_tls)

    async def crash(self) -> None:
        """Stop the cluster as ``kill -9`` would. Its port refuses connections until ``restart``."""
        await self.embedded.crash()
        serving, self._serving = self._serving, None
        if serving is not None:
            await serving.stop(grace_seconds=0)
        # Bound but not listening: no other process gets the port.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((_HOST, self.port))

    async def restart(self) -> None:
        """Crash, unless crashed already, and start again with the same objects and port."""
        if self._serving is not None:
            await self.crash()
        await self.embedded.restart()
        self._socket.listen()
        self._socket.setblocking(False)
        await self._serve()

    def snapshot(self) -> ClusterSnapshot:
        """Return the current state. Raises ``ClusterError`` for a store that is not in memory."""
        return ClusterSnapshot(self.embedded.snapshot(), self.embedded.clock.now())

    async def rewind(self, snapshot: ClusterSnapshot) -> None:
        """Return to a state; the clock continues."""
        await self._rewind(snapshot.with_port(self.port))

    async def _rewind(self, snapshot: ClusterSnapshot) -> None:
        """Replace the objects. In real time controllers restart in the background; in virtual time their restart is awaited, because time must not advance meanwhile."""
        await self.embedded.rewind(snapshot.dump, waits=self._options.clock == "virtual")

    async def reset(self) -> None:
        """Restore the initial state."""
        assert self._first is not None
        await self._rewind(self._first)

    def describe(self) -> dict[str, Any]:
        """Return URL, files and credentials for clients."""
        return {
            "url": self.url,
            "kubeconfig": str(self.kubeconfig),
            "ca": str(self.ca),
            "token": self.token,
            "pid": os.getpid(),
            "cpu_seconds": self.start_cpu_seconds,
        }
