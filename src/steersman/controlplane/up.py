"""``steersman up`` and ``steersman apiserver``: start, and tell the user how to reach what runs."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from typing import TYPE_CHECKING

from steersman.apimachinery.timestamps import format_time
from steersman.asynckit.clock import RealClock
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.children import Child
from steersman.controlplane.component_health import health_socket
from steersman.controlplane.kubeconfig import KubeconfigError, user_kubeconfig
from steersman.controlplane.options import OptionError, default_data_dir
from steersman.controlplane.running_planes import Announcement, RunningPlane, check_name_is_free, running_directory
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from steersman.controlplane.kubeconfig_merge import KubeconfigMerge
    from steersman.controlplane.options import APIServerOptions

_log = logging.getLogger(__name__)


class ControlPlane:
    """An API server, and beside it the processes that are its clients."""

    def __init__(self, server: APIServer, children: Sequence[Child]) -> None:
        self.server = server
        self._children = children
        self._announcement: Announcement | None = None
        self._merge: KubeconfigMerge | None = None

    def merge(self, path: Path) -> None:
        """Put the context into a kubeconfig until ``stop``. Raises ``KubeconfigError``, ``OSError``."""
        from steersman.controlplane.kubeconfig_merge import KubeconfigMerge  # noqa: PLC0415 — only this needs YAML

        self._merge = KubeconfigMerge.make(path, self.server.access, directory=default_data_dir() / "merged")

    def announce(self) -> None:
        """Let ``steersman status`` know. Where that cannot be written, it does not know."""
        plane = RunningPlane(
            pid=os.getpid(),
            name=self.server.options.name,
            url=self.server.url,
            kubeconfig=str(self.server.kubeconfig.absolute()),
            data_dir=""
            if self.server.options.ephemeral
            else str((self.server.options.data_dir or default_data_dir(self.server.options.name)).absolute()),
            version=__version__,
            begun=format_time(RealClock().now()),
            is_whole=bool(self._children),
        )
        try:
            self._announcement = Announcement.make(plane, directory=running_directory())
        except OSError as error:
            _log.warning("steersman status will not know of this: %s", error)

    async def stop(self, *, grace_seconds: float | None = None) -> None:
        """The clients end first: they have work to finish, and a lease to give back."""
        more: dict[str, float] = {} if grace_seconds is None else {"grace_seconds": grace_seconds}
        await asyncio.gather(*(child.stop(**more) for child in self._children))
        await self.server.stop(grace_seconds=grace_seconds)
        merged, self._merge = self._merge, None
        if merged is not None:
            merged.undo()
        announcement, self._announcement = self._announcement, None
        if announcement is not None:
            announcement.close()


async def companions_beside(
    server: APIServer, flags: Sequence[str], *, begun_seconds: float, verbosity: int, logging_format: str = "text"
) -> Child:
    """Controllers, scheduler and nodes for a server of this process, in one of their own so that two cores work."""
    health = health_socket()
    server.components.use_socket(health)
    arguments = [
        "companions",
        f"--kubeconfig={server.kubeconfig}",
        f"--root-ca-file={server.access.ca}",
        f"--service-account-private-key-file={await server.account_key_file()}",
        f"--cluster-signing-cert-file={server.pki.ca.certificate}",
        f"--cluster-signing-key-file={server.pki.ca.key}",
        "--use-service-account-credentials",
        f"--kubelet-certificate-file={server.pki.kubelet.certificate}",
        f"--kubelet-key-file={server.pki.kubelet.key}",
        f"--kubelet-client-ca-file={server.pki.ca.certificate}",
        "--port=0",
        f"--health-socket={health}",
        f"--v={verbosity}",
        f"--logging-format={logging_format}",
        f"--begun={begun_seconds}",
        *flags,
    ]
    return Child(arguments, clock=RealClock())


async def up(
    options: APIServerOptions,
    *,
    merge: bool,
    begun_seconds: float,
    companions: Sequence[str] | None = None,
    verbosity: int = 0,
    logging_format: str = "text",
    announces: bool = False,
) -> ControlPlane:
    """Start everything. Raises what ``APIServer.start`` does.

    ``begun_seconds`` is ``time.perf_counter()`` at the start, ``companions`` the flags of what runs beside the server;
    None: nothing does. One that ``announces`` itself is found by ``steersman status``.
    """
    check_name_is_free(options.name)
    server = await APIServer.start(options)
    children = []
    if companions is not None:
        children.append(
            await companions_beside(
                server, companions, begun_seconds=begun_seconds, verbosity=verbosity, logging_format=logging_format
            )
        )
    for child in children:
        child.start()
    running = ControlPlane(server, children)
    if announces:
        running.announce()
    took_seconds = time.perf_counter() - begun_seconds
    lines = [
        f"Steersman {__version__} (Kubernetes {KUBERNETES_VERSION}) is ready at {server.url} after {took_seconds:.2f} s",
        f"export KUBECONFIG={server.kubeconfig}",
    ]
    if merge:
        path = user_kubeconfig()
        try:
            running.merge(path)
        except (KubeconfigError, OSError) as error:
            await running.stop(grace_seconds=0)
            raise OptionError(f"--merge: {error}") from error
        lines[1] = f"the context {server.access.name!r} is the current one in {path}"
    if sys.stdout.isatty():
        lines.append("Ctrl-C stops it; nodes are coming up" if children else "Ctrl-C stops it")
    sys.stdout.write("".join(f"{line}{os.linesep}" for line in lines))
    sys.stdout.flush()
    return running
