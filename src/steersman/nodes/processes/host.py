"""Logs, commands, streams and ports of containers that are processes."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from steersman.asynckit.tasks import Supervisor
from steersman.nodes.kubelet.hosting import Refusal, check_has_logs, container_status
from steersman.nodes.processes.fields import LOOPBACK
from steersman.nodes.processes.process import Process
from steersman.nodes.processes.statuses import Terminated, Waiting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from steersman.nodes.kubelet.hosting import Streams
    from steersman.nodes.kubelet.log_lines import LogOptions
    from steersman.nodes.processes.container import ContainerLife
    from steersman.nodes.processes.pod_life import PodLife
    from steersman.nodes.processes.process import Guard

    Tree = dict[str, Any]


class ProcessHost:
    """Answers for the pods of ``lives``, by their uid, and for those that ``concerns`` tells: they lived before."""

    def __init__(self, lives: Mapping[str, PodLife], guard: Guard, *, concerns: Callable[[Tree], bool]) -> None:
        self._lives = lives
        self._guard = guard
        self._concerns = concerns

    def has(self, pod: Tree) -> bool:
        """Those that are no simulated ones."""
        return pod["metadata"]["uid"] in self._lives or self._concerns(pod)

    def _life(self, pod: Tree, container: str) -> ContainerLife:
        living = self._lives.get(pod["metadata"]["uid"])
        if living is None:
            instance = container_status(pod, container).get("containerID") or container
            raise Refusal(f"unable to retrieve container logs for {instance}")
        life = living.containers.get(container)
        if life is None:
            raise Refusal(f'container not found ("{container}")', code=404)
        return life

    def _running(self, pod: Tree, container: str) -> ContainerLife:
        life = self._life(pod, container)
        if life.process is None:
            raise Refusal(f'container not found ("{container}")', code=500)
        return life

    async def logs(self, pod: Tree, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Of its last run, or of the one before."""
        life = self._life(pod, container)
        # In the pause before a restart the run before is the one that has ended.
        pauses = isinstance(life.facts.state, Waiting)
        log = life.previous_log if options.previous and not pauses else life.log
        if log is None:
            check_has_logs(pod, container, previous=options.previous)
            raise Refusal(f"unable to retrieve container logs for {container} of pod {pod['metadata']['name']}")
        async for piece in log.read(options):
            yield piece

    async def execute(self, pod: Tree, container: str, command: Sequence[str], streams: Streams) -> int:
        """A process in the same folder with the same variables."""
        life = self._running(pod, container)
        assert life.launched is not None
        if not command:
            raise Refusal("you must specify at least one command for the container")
        launch = life.launched._replace(words=list(command))
        try:
            process = await Process.start(launch, guard=self._guard, stdin=streams.wants_stdin, tty=streams.tty)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise Refusal(f'failed to exec in container: exec: "{command[0]}": {why}', code=500) from error

        async def sink(data: bytes, error: bool) -> None:  # noqa: FBT001 — as ``Process.wait`` calls it
            await streams.write(data, error=error)

        tasks = Supervisor(f"exec in {container}")
        try:
            if streams.wants_stdin:
                tasks.start("input", _feed(process, streams))
            if streams.tty:
                tasks.start("size", _resize(process, streams))
            return await process.wait(sink)
        finally:
            process.signal(signal.SIGKILL)
            await tasks.close()

    async def attach(self, pod: Tree, container: str, streams: Streams) -> int:
        """What it says from now on; what the client says, where the container listens (``stdin: true``)."""
        life = self._running(pod, container)
        process = life.process
        assert process is not None
        tasks, queue = Supervisor(f"attached to {container}"), life.attach()
        try:
            if streams.wants_stdin:
                tasks.start("input", _feed(process, streams))
            while (piece := await queue.get()) is not None:
                data, error = piece
                if data:
                    await streams.write(data, error=error)
        finally:
            life.detach(queue)
            await tasks.close()
        state = life.facts.state
        return state.code if isinstance(state, Terminated) else 0

    async def connect(self, pod: Tree, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To the port on loopback."""
        return await asyncio.open_connection(LOOPBACK, port)


async def _feed(process: Process, streams: Streams) -> None:
    while data := await streams.read():
        await process.write(data)
    await process.write(b"")


async def _resize(process: Process, streams: Streams) -> None:
    while True:
        size = await streams.resized()
        process.resize(width=size.width, height=size.height)
