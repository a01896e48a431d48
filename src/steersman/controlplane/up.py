"""``steersman up`` and ``steersman apiserver``: start all components, wait until pods run, print how to connect."""

from __future__ import annotations

import logging
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.timestamps import format_time
from steersman.asynckit.clock import RealClock
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.child_process import ChildProcess
from steersman.controlplane.children import Child, ChildFailedError
from steersman.controlplane.component_health import health_socket
from steersman.controlplane.kubeconfig import KubeconfigError, user_kubeconfig
from steersman.controlplane.options import OptionError, default_data_dir
from steersman.controlplane.process import StartError
from steersman.controlplane.ready_message import ready_message
from steersman.controlplane.running_planes import Announcement, RunningPlane, check_name_is_free, running_directory
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.kubeconfig_merge import KubeconfigMerge
    from steersman.controlplane.options import APIServerOptions

_log = logging.getLogger(__name__)

#: A start that takes longer reports its pending step.
SLOW_SECONDS: Final = 5.0
#: A start that takes longer has failed.
READY_SECONDS: Final = 120.0
_COMPONENTS: Final = "components"
_ACCOUNT_CONTROLLER: Final = "serviceaccount-controller"


class ComponentOptions(msgspec.Struct, frozen=True):
    """Options of controllers, scheduler and nodes of ``up``."""

    #: Flags of ``steersman components``.
    flags: list[str] = []
    #: ``--controllers``.
    controllers: tuple[str, ...] = ("*",)
    #: True to report readiness only when pods can run.
    wait: bool = True

    @property
    def makes_service_accounts(self) -> bool:
        """Report whether namespaces get a ServiceAccount ``default``."""
        # ``steersman apiserver`` alone runs without the packages of controllers.
        from steersman.controllers.registry import find, is_enabled  # noqa: PLC0415

        controller = find(_ACCOUNT_CONTROLLER)
        return controller is not None and is_enabled(controller, self.controllers)


#: Admission plugins that ``steersman up`` adds to those on by default.
HARDENING_PLUGINS: Final = ("NodeRestriction",)


class ControlPlane:
    """API server, and the process of the components that are its clients."""

    def __init__(self, server: APIServer, child: Child | None) -> None:
        self.server = server
        self._child = child
        self._announcement: Announcement | None = None
        self._tasks = Supervisor("control plane")
        self._merge: KubeconfigMerge | None = None

    def merge(self, path: Path) -> None:
        """Put the context into a kubeconfig until ``stop``. Raises ``KubeconfigError``, ``OSError``."""
        from steersman.controlplane.kubeconfig_merge import KubeconfigMerge  # noqa: PLC0415 — only this needs YAML

        self._merge = KubeconfigMerge.make(path, self.server.access, directory=default_data_dir() / "merged")

    def announce(self) -> None:
        """Let ``steersman status`` find this control plane, if the file can be written."""
        plane = RunningPlane(
            pid=os.getpid(),
            name=self.server.options.name,
            url=self.server.url,
            kubeconfig=str(self.server.kubeconfig.absolute()),
            data_dir=""
            if self.server.options.ephemeral
            else str((self.server.options.data_dir or default_data_dir(self.server.options.name)).absolute()),
            version=__version__,
            started=format_time(RealClock().now()),
            is_whole=self._child is not None,
        )
        try:
            self._announcement = Announcement.make(plane, directory=running_directory())
        except OSError as error:
            _log.warning("steersman status will not know of this: %s", error)

    def print_when_ready(self, child: Child, *, begun_seconds: float) -> None:
        """Print the message once a node is Ready, in the background."""

        async def print_message() -> None:
            with suppress(ChildFailedError):  # each failure is logged
                if node := await child.wait_ready():
                    print_lines(ready_message(node, time.perf_counter() - begun_seconds))

        self._tasks.start("ready message", print_message())

    async def stop(self, *, grace_seconds: float | None = None) -> None:
        """Stop the components before the server, which is not ready from now on: they have work to finish, and leases to release."""
        more: dict[str, float] = {} if grace_seconds is None else {"grace_seconds": grace_seconds}
        self.server.begin_shutdown()
        await self._tasks.close()
        if self._child is not None:
            await self._child.stop(**more)
        await self.server.stop(grace_seconds=grace_seconds)
        merged, self._merge = self._merge, None
        if merged is not None:
            merged.undo()
        announcement, self._announcement = self._announcement, None
        if announcement is not None:
            announcement.close()


async def component_arguments(
    server: APIServer, flags: Sequence[str], *, verbosity: int, logging_format: str
) -> list[str]:
    """Return the flags of ``steersman components`` for a server of this process."""
    health = health_socket()
    server.components.use_socket(health)
    return [
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
        *flags,
    ]


def hardened(options: APIServerOptions) -> APIServerOptions:
    """Return the options with the admission plugins that kubeadm and kind turn on: ``NodeRestriction``.

    A plugin named by ``--disable-admission-plugins`` stays off.
    """
    missing = [
        name
        for name in HARDENING_PLUGINS
        if name not in options.disable_admission_plugins and name not in options.enable_admission_plugins
    ]
    return msgspec.structs.replace(options, enable_admission_plugins=(*options.enable_admission_plugins, *missing))


async def up(
    options: APIServerOptions,
    *,
    merge: bool,
    begun_seconds: float,
    components: ComponentOptions | None = None,
    process: ChildProcess | None = None,
    verbosity: int = 0,
    logging_format: str = "text",
    announces: bool = False,
) -> ControlPlane:
    """Start everything, wait until it is ready, and print how to reach it.

    ``begun_seconds`` is ``time.perf_counter()`` at the start; without ``components`` there is an API server alone, with them it is ``hardened``;
    ``process`` is their process if it was spawned already. With ``announces`` ``steersman status`` finds it.

    Raises what ``APIServer.start`` does, and ``StartError``.
    """
    check_name_is_free(options.name)
    child = None if components is None else Child(_COMPONENTS, clock=RealClock(), process=process or _spawn())
    try:
        server = await APIServer.start(
            options if components is None else hardened(options),
            makes_service_accounts=components is not None and components.makes_service_accounts,
        )
    except BaseException:
        if child is not None:
            await child.stop(grace_seconds=0)
        raise
    running = ControlPlane(server, child)
    try:
        node = ""
        if child is not None and components is not None:
            child.start(
                await component_arguments(server, components.flags, verbosity=verbosity, logging_format=logging_format)
            )
            if components.wait:
                node = await wait_until_ready(child, clock=RealClock())
        lines = _access_lines(running, merge=merge)
        if announces:
            running.announce()
    except BaseException:
        await running.stop()
        raise
    elapsed_seconds = time.perf_counter() - begun_seconds
    version = f"Steersman {__version__} (Kubernetes {KUBERNETES_VERSION})"
    lines.insert(0, f"{version} is ready at {server.url} after {elapsed_seconds:.2f} s")
    if sys.stdout.isatty():
        lines.append("Ctrl-C stops it")
    if node:
        lines += ready_message(node, elapsed_seconds)
    print_lines(lines)
    if child is not None and components is not None and not components.wait:
        running.print_when_ready(child, begun_seconds=begun_seconds)
    return running


def _spawn() -> ChildProcess:
    return ChildProcess.spawn(_COMPONENTS)


async def wait_until_ready(child: Child, *, clock: Clock) -> str:
    """Wait for the components; return the name of a Ready node, empty if no node is expected.

    A slow start is explained on standard error. Raises ``StartError``.
    """
    try:
        try:
            return await wait_for(child.wait_ready(), SLOW_SECONDS, clock=clock)
        except TimeoutError:
            sys.stderr.write(f"steersman: not ready after {SLOW_SECONDS:.0f} s, waiting for {child.waiting_for}\n")
            sys.stderr.flush()
        return await wait_for(child.wait_ready(), READY_SECONDS - SLOW_SECONDS, clock=clock)
    except TimeoutError:
        raise StartError(
            f"not ready within {READY_SECONDS:.0f} s, still waiting for {child.waiting_for}; --wait=false does not wait"
        ) from None
    except ChildFailedError as error:
        raise StartError(str(error)) from error


def _access_lines(running: ControlPlane, *, merge: bool) -> list[str]:
    """Return the lines that explain how clients reach the server. Raises ``OptionError``."""
    server = running.server
    if not merge:
        return [f"export KUBECONFIG={server.kubeconfig}"]
    path = user_kubeconfig()
    try:
        running.merge(path)
    except (KubeconfigError, OSError) as error:
        raise OptionError(f"--merge: {error}") from error
    return [f"the context {server.access.name!r} is the current one in {path}"]


def print_lines(lines: Iterable[str]) -> None:
    """Write to standard output at once. A closed reader is not an error."""
    with suppress(BrokenPipeError):
        sys.stdout.write("".join(f"{line}{os.linesep}" for line in lines))
        sys.stdout.flush()
