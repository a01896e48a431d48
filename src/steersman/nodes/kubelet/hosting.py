"""Who answers for containers, and what is said to them: the interface between the kubelet's API and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Sequence

    from steersman.nodes.kubelet.log_lines import LogOptions

    Tree = dict[str, Any]


class Refusal(Exception):  # noqa: N818 — says what happened
    """The kubelet does not do what it is asked for; the text says why, ``code`` is that of HTTP."""

    def __init__(self, message: str, *, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


class Size(msgspec.Struct, frozen=True, rename="pascal"):
    """Of a terminal, in characters."""

    width: int
    height: int


class Streams(Protocol):
    """Standard input and output of a command, as seen by who runs it."""

    tty: bool
    wants_stdin: bool

    async def read(self) -> bytes:
        """The next piece of standard input; empty at its end."""

    async def write(self, piece: bytes, *, error: bool = False) -> None:
        """A piece of standard output or of standard error. What nobody wants to see is dropped."""

    async def resized(self) -> Size:
        """The next size of the terminal."""


class Host(Protocol):
    """Answers for the containers of the pods that it has."""

    def has(self, pod: Tree) -> bool:
        """Whether it answers for this one."""

    def logs(self, pod: Tree, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """What a container wrote. Raises ``Refusal`` before the first piece."""

    async def execute(self, pod: Tree, container: str, command: Sequence[str], streams: Streams) -> int:
        """Run a command in a container, and return its exit code. Raises ``Refusal``."""

    async def attach(self, pod: Tree, container: str, streams: Streams) -> int:
        """Be at a container's streams until it or they end, and return its exit code. Raises ``Refusal``."""

    async def connect(self, pod: Tree, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of the pod. Raises ``Refusal``, ``OSError``."""


def container_status(pod: Tree, container: str) -> Tree:
    """What the pod's status says of a container; empty where it says nothing."""
    status = pod.get("status") or {}
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for each in status.get(kind) or ():
            if each.get("name") == container:
                found: Tree = each
                return found
    return {}


def check_has_logs(pod: Tree, container: str, *, previous: bool) -> Tree:
    """The container's status, of one that has a log (``validateContainerLogStatus``). Raises ``Refusal``."""
    name, status = pod["metadata"]["name"], container_status(pod, container)
    if not status:
        raise Refusal(f'container "{container}" in pod "{name}" is not available')
    state, last = status.get("state") or {}, status.get("lastState") or {}
    if previous:
        if not (last.get("terminated") or {}).get("containerID"):
            raise Refusal(f'previous terminated container "{container}" in pod "{name}" not found')
    elif "running" not in state and "terminated" not in state and "terminated" not in last:
        waiting = state.get("waiting") or {}
        why = {
            "ErrImagePull": "trying and failing to pull image",
            "ImagePullBackOff": "trying and failing to pull image",
        }.get(waiting.get("reason", ""), waiting.get("reason") or "ContainerCreating")
        raise Refusal(f'container "{container}" in pod "{name}" is waiting to start: {why}')
    return status


def is_running(pod: Tree, container: str) -> bool:
    """Whether the pod's status says so of a container."""
    return "running" in (container_status(pod, container).get("state") or {})
