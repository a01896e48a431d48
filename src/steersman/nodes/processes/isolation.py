"""Isolation of process pods: sandbox of a container from its spec, and check for support by this machine.

The sandbox itself is ``nodes.processes.sandbox``, a program that creates the namespaces. This module decides on mounts, user
and capabilities.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.nodes.pod_status import spec_of
from steersman.nodes.processes import sandbox as program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.trees import Tree

_PROGRAM: Final = (sys.executable, "-I", "-S", str(program.__file__))
#: Default of ``terminationMessagePath``.
TERMINATION_LOG: Final = "/dev/termination-log"


class Mount(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Mount of a sandbox; without a source an empty tmpfs."""

    path: str
    source: str | None = None
    read_only: bool = False
    mode: str = "1777"


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """Sandbox of one container, as the program reads it."""

    #: Directory of the machine that the file system mirrors.
    root: str = "/"
    #: Empty directory of the machine on which the new file system is built.
    new_root: str
    mounts: tuple[Mount, ...]
    hostname: str
    uid: int = 0
    gid: int = 0
    directory: str = "/"
    capabilities: tuple[int, ...] = tuple(program.CAPABILITIES.values())
    no_new_privileges: bool = False
    #: File for the error of a command that could not be started.
    errors: str

    def run(self, words: Sequence[str]) -> list[str]:
        """Return the command line that runs a command in a new sandbox."""
        return [*_PROGRAM, "run", msgspec.json.encode(self).decode(), *words]

    def enter(self, pid: int, words: Sequence[str]) -> list[str]:
        """Return the command line that runs a command in the sandbox of process ``pid``."""
        return [*_PROGRAM, "enter", str(pid), msgspec.json.encode(self).decode(), *words]


def container_sandbox(pod: Tree, container: Tree, mounts: Iterable[Mount], *, private: Path) -> Sandbox:
    """Return the sandbox of a container. ``mounts``: its volumes; ``private``: a directory of the container.

    ``/tmp`` and ``/dev/shm`` are empty and writable, as is a working directory that does not exist on the machine;
    everything else that is not a volume is read-only.
    """
    contexts = [spec_of(pod).get("securityContext") or {}, container.get("securityContext") or {}]
    directory = container.get("workingDir") or "/"
    mounts_by_path = {mount.path: mount for mount in (Mount("/tmp"), Mount("/dev/shm"))}  # noqa: S108 — inside the sandbox
    mounts_by_path |= {mount.path: mount for mount in _system_files(pod, container, private)}
    mounts_by_path |= {mount.path: mount for mount in mounts}
    if not Path(directory).is_dir() and not any(Path(directory).is_relative_to(path) for path in mounts_by_path):
        mounts_by_path[directory] = Mount(directory, mode="755")
    new_root = private / "root"
    new_root.mkdir(mode=0o700, exist_ok=True)
    return Sandbox(
        new_root=str(new_root),
        mounts=tuple(mounts_by_path.values()),
        hostname=hostname(pod),
        uid=_last(contexts, "runAsUser", 0),
        gid=_last(contexts, "runAsGroup", 0),
        directory=directory,
        capabilities=_capabilities(contexts[-1].get("capabilities") or {}),
        no_new_privileges=contexts[-1].get("allowPrivilegeEscalation") is False,
        errors=str(private / "errors"),
    )


def _last(contexts: Sequence[Tree], field: str, default: int) -> int:
    """Return a field of the container's or else the pod's security context."""
    values = [context[field] for context in contexts if context.get(field) is not None]
    return int(values[-1]) if values else default


def _capabilities(changes: Tree) -> tuple[int, ...]:
    """Return the numbers of the default capabilities that are not dropped; none beyond them can be added."""
    dropped = {name.removeprefix("CAP_") for name in changes.get("drop") or ()}
    added = {name.removeprefix("CAP_") for name in changes.get("add") or ()}
    is_kept = {name: name in added or ("ALL" not in dropped and name not in dropped) for name in program.CAPABILITIES}
    return tuple(number for name, number in program.CAPABILITIES.items() if is_kept[name])


def hostname(pod: Tree) -> str:
    """Return the pod's host name: ``spec.hostname`` or its name, of at most 63 characters. Upstream:
    ``GeneratePodHostNameAndDomain``.
    """
    return str(spec_of(pod).get("hostname") or pod["metadata"]["name"])[:63].rstrip("-.")


def _system_files(pod: Tree, container: Tree, private: Path) -> Iterable[Mount]:
    """Write ``/etc/hosts``, ``/etc/hostname`` and the termination log, and yield their mounts."""
    (private / "hosts").write_text(hosts_file(pod))
    (private / "hostname").write_text(f"{hostname(pod)}\n")
    (private / "termination-log").write_bytes(b"")
    yield Mount("/etc/hosts", str(private / "hosts"))
    yield Mount("/etc/hostname", str(private / "hostname"))
    yield Mount(container.get("terminationMessagePath") or TERMINATION_LOG, str(private / "termination-log"))


def hosts_file(pod: Tree) -> str:
    """Return ``/etc/hosts`` of a pod, whose processes listen on loopback. Upstream: ``managedHostsFileContent``."""
    spec, name = spec_of(pod), hostname(pod)
    lines = ["# Kubernetes-managed hosts file.", "127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback"]
    if spec.get("subdomain"):
        lines.append(f"127.0.0.1\t{name}.{spec['subdomain']}.{pod['metadata']['namespace']}.svc.cluster.local\t{name}")
    else:
        lines.append(f"127.0.0.1\t{name}")
    aliases = spec.get("hostAliases") or ()
    if aliases:
        lines += ["", "# Entries added by HostAliases."]
        lines += ["\t".join([alias["ip"], *(alias.get("hostnames") or ())]) for alias in aliases]
    return "\n".join([*lines, ""])


async def probe_isolation() -> str:
    """Return why this machine cannot isolate process pods; empty if it can."""
    with tempfile.TemporaryDirectory(prefix="steersman-probe-") as name:
        folder = Path(name)
        pod: dict[str, Any] = {"metadata": {"name": "probe", "namespace": "default"}}
        sandbox = container_sandbox(pod, {}, (), private=folder)
        try:
            process = await asyncio.create_subprocess_exec(
                *sandbox.run([sys.executable, "-I", "-S", "-c", ""]), stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            _, output = await process.communicate()
        except OSError as error:
            return str(error)
        if process.returncode == 0:
            return ""
        return (
            _read(Path(sandbox.errors)) or output.decode(errors="replace").strip() or f"exit code {process.returncode}"
        )


def _read(path: Path) -> str:
    """Return a small text file; empty if it does not exist."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
