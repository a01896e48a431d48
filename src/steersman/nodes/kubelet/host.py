"""Interface between the kubelet API and the pods that it serves: hosts, streams, request errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.kubelet.log_lines import LogOptions


class RequestError(Exception):
    """The kubelet rejects a request; the message is the reason, ``code`` the HTTP status."""

    def __init__(self, message: str, *, code: int = 400, headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.code = code
        #: Headers of the response.
        self.headers = headers


class Size(msgspec.Struct, frozen=True, rename="pascal"):
    """Size of a terminal, in characters."""

    width: int
    height: int


class Streams(Protocol):
    """Standard input and output of a command."""

    tty: bool
    wants_stdin: bool

    async def read(self) -> bytes:
        """Return the next chunk of standard input; empty at its end."""

    async def write(self, piece: bytes, *, error: bool = False) -> None:
        """Write to standard output or error; drop output that the client did not request."""

    async def next_size(self) -> Size:
        """Wait for the next size of the terminal."""


class Host(Protocol):
    """Server of the containers of some pods."""

    def has(self, pod: Tree) -> bool:
        """True if this host serves the pod."""

    def logs(self, pod: Tree, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield a container's log. Raises ``RequestError`` before the first chunk."""

    async def execute(self, pod: Tree, container: str, command: Sequence[str], streams: Streams) -> int:
        """Run a command in a container, and return its exit code. Raises ``RequestError``."""

    async def attach(self, pod: Tree, container: str, streams: Streams) -> None:
        """Attach to a container's streams until it or they end. Raises ``RequestError``."""

    async def connect(self, pod: Tree, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a port of the pod. Raises ``RequestError``, ``OSError``."""


def container_status(pod: Tree, container: str) -> Tree:
    """Return the status of a container; empty if missing."""
    status = pod.get("status") or {}
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for container_status in status.get(kind) or ():
            if container_status.get("name") == container:
                return cast("Tree", container_status)
    return {}


def check_has_logs(pod: Tree, container: str, *, previous: bool) -> Tree:
    """Return the status of a container that has a log. Raises ``RequestError``. Upstream:
    ``validateContainerLogStatus``.
    """
    name, status = pod["metadata"]["name"], container_status(pod, container)
    if not status:
        raise RequestError(f'container "{container}" in pod "{name}" is not available')
    state, last = status.get("state") or {}, status.get("lastState") or {}
    if previous:
        if not (last.get("terminated") or {}).get("containerID"):
            raise RequestError(f'previous terminated container "{container}" in pod "{name}" not found')
    elif "running" not in state and "terminated" not in state and "terminated" not in last:
        waiting = state.get("waiting") or {}
        reason = {
            "ErrImagePull": "trying and failing to pull image",
            "ImagePullBackOff": "trying and failing to pull image",
        }.get(waiting.get("reason", ""), waiting.get("reason") or "ContainerCreating")
        raise RequestError(f'container "{container}" in pod "{name}" is waiting to start: {reason}')
    return status


def is_running(pod: Tree, container: str) -> bool:
    """True if the container's state is ``running``."""
    return "running" in (container_status(pod, container).get("state") or {})
