"""Kubelet host of process pods: logs, exec, attach and port forwarding."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from steersman.apimachinery.gotext import errno_text
from steersman.asynckit.tasks import Supervisor
from steersman.nodes.kubelet.host import RequestError, check_has_logs, container_status
from steersman.nodes.processes.fields import LOOPBACK
from steersman.nodes.processes.process import Process
from steersman.nodes.processes.statuses import Waiting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.kubelet.host import Streams
    from steersman.nodes.kubelet.log_lines import LogOptions
    from steersman.nodes.processes.container import ContainerRunner
    from steersman.nodes.processes.pod_worker import PodWorker
    from steersman.nodes.processes.process import Guard


class ProcessHost:
    """Host of the pods in ``lives``, by UID, and of pods selected by ``concerns`` that ran under an earlier process."""

    def __init__(self, lives: Mapping[str, PodWorker], guard: Guard, *, concerns: Callable[[Tree], bool]) -> None:
        self._pod_workers = lives
        self._guard = guard
        self._concerns = concerns

    def has(self, pod: Tree) -> bool:
        """True if this host serves the pod."""
        return pod["metadata"]["uid"] in self._pod_workers or self._concerns(pod)

    def _runner(self, pod: Tree, container: str) -> ContainerRunner:
        worker = self._pod_workers.get(pod["metadata"]["uid"])
        if worker is None:
            instance = container_status(pod, container).get("containerID") or container
            raise RequestError(f"unable to retrieve container logs for {instance}")
        runner = worker.containers.get(container)
        if runner is None:
            raise RequestError(f'container not found ("{container}")', code=404)
        return runner

    def _running(self, pod: Tree, container: str) -> ContainerRunner:
        runner = self._runner(pod, container)
        if runner.process is None:
            raise RequestError(f'container not found ("{container}")', code=500)
        return runner

    async def logs(self, pod: Tree, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield the log of the last run, or of the previous one."""
        runner = self._runner(pod, container)
        # During the back-off ``log`` is still that of the terminated run.
        is_backing_off = isinstance(runner.facts.state, Waiting)
        log = runner.previous_log if options.previous and not is_backing_off else runner.log
        if log is None:
            check_has_logs(pod, container, previous=options.previous)
            raise RequestError(f"unable to retrieve container logs for {container} of pod {pod['metadata']['name']}")
        async for piece in log.read(options):
            yield piece

    async def execute(self, pod: Tree, container: str, command: Sequence[str], streams: Streams) -> int:
        """Run a command in the container's directory with its environment."""
        runner = self._running(pod, container)
        assert runner.launched is not None
        assert runner.process is not None
        if not command:
            raise RequestError("you must specify at least one command for the container")
        launch = runner.launched.exec_in(runner.process, list(command))
        try:
            process = await Process.start(launch, guard=self._guard, stdin=streams.wants_stdin, tty=streams.tty)
        except OSError as error:
            message = errno_text(error)
            raise RequestError(f'failed to exec in container: exec: "{command[0]}": {message}', code=500) from error

        async def sink(data: bytes, error: bool) -> None:  # noqa: FBT001 — as ``Process.wait`` calls it
            await streams.write(data, error=error)

        tasks = Supervisor(f"exec in {container}")
        try:
            if streams.wants_stdin:
                tasks.start("input", _forward_input(process, streams))
            if streams.tty:
                tasks.start("size", _resize(process, streams))
            code = await process.wait(sink)
            if problem := launch.take_start_error():
                raise RequestError(f"failed to exec in container: {problem}", code=500)
            return code
        finally:
            process.signal(signal.SIGKILL)
            await tasks.close()

    async def attach(self, pod: Tree, container: str, streams: Streams) -> None:
        """Stream new output, and input if the container has ``stdin: true``."""
        runner = self._running(pod, container)
        process = runner.process
        assert process is not None
        tasks, queue = Supervisor(f"attached to {container}"), runner.attach()
        try:
            if streams.wants_stdin:
                tasks.start("input", _forward_input(process, streams))
            while (piece := await queue.get()) is not None:
                data, error = piece
                if data:
                    await streams.write(data, error=error)
        finally:
            runner.detach(queue)
            await tasks.close()

    async def connect(self, pod: Tree, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the port on loopback."""
        return await asyncio.open_connection(LOOPBACK, port)


async def _forward_input(process: Process, streams: Streams) -> None:
    while data := await streams.read():
        await process.write(data)
    await process.write(b"")


async def _resize(process: Process, streams: Streams) -> None:
    while True:
        size = await streams.next_size()
        process.resize(width=size.width, height=size.height)
