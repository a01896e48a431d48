"""Logs, exec and attach of simulated containers.

Annotations of the pod, or else of its node, define the output; without them a container with a supported command
(``steersman.nodes.simulation.programs``) has the output of that command. ``{pod}``, ``{namespace}``, ``{container}`` and
``{node}`` in annotations are replaced by the names.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import parse_time
from steersman.nodes.kubelet.host import RequestError, check_has_logs, container_status, is_running
from steersman.nodes.kubelet.log_lines import Limit, LogLine, nano_time, tail
from steersman.nodes.simulation.programs import program_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.host import Streams
    from steersman.nodes.kubelet.log_lines import LogOptions


LOGS: Final = "nodes.steersman.dev/logs"
EXEC_OUTPUT: Final = "nodes.steersman.dev/exec-output"
EXEC_CODE: Final = "nodes.steersman.dev/exec-code"
_DEFAULT_LOG: Final = "{pod}: {container} is simulated\n"
_DEFAULT_OUTPUT: Final = "{pod}: {container} is simulated\n"
#: Interval at which a followed log checks whether the container has terminated.
_POLL_SECONDS: Final = 1.0


class _Output:
    """Output of one container run, with a read position."""

    def __init__(self, chunks: Sequence[tuple[float, str]], began: datetime) -> None:
        self._chunks = chunks
        self._began = began
        self._read = 0

    def written(self, now: datetime) -> list[LogLine]:
        """Return the unread lines written up to a time."""
        lines: list[LogLine] = []
        for seconds, text in self._chunks[self._read :]:
            time = self._began + timedelta(seconds=seconds)
            if time > max(now, self._began):
                break
            self._read += 1
            lines += [
                LogLine(nano_time(time), b"stdout", line.endswith(b"\n"), line.removesuffix(b"\n"))
                for line in text.encode().splitlines(keepends=True)
            ]
        return lines


def _containers(pod: Tree) -> list[Tree]:
    spec = pod.get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


class SimulatedHost:
    """Host of all pods; ``find`` returns the current version of a pod, ``node_of`` its node."""

    def __init__(
        self, find: Callable[[Tree], Tree | None], node_of: Callable[[Tree], Tree | None], *, clock: Clock
    ) -> None:
        self._find = find
        self._node_of = node_of
        self._clock = clock

    def has(self, pod: Tree) -> bool:
        """True for every pod."""
        return True

    async def logs(self, pod: Tree, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield the output; a command's output at its simulated time, annotations at the container's start."""
        status = check_has_logs(pod, container, previous=options.previous)
        state = status.get("lastState" if options.previous else "state") or {}
        if "waiting" in state:  # in back-off: the log of the previous run
            state = status.get("lastState") or {}
        since = next((container_state.get("startedAt") for container_state in state.values()), None)
        began = parse_time(since) if since else self._clock.now()
        ended = (state.get("terminated") or {}).get("finishedAt")
        output = _Output(self._output(pod, container), began)
        limit = Limit(options.limit_bytes)
        for line in tail(output.written(parse_time(ended) if ended else self._clock.now()), options):
            yield limit.cut(line.render(timestamps=options.timestamps))
        if options.follow and not options.previous:
            async for line in self._follow(pod, container, output):
                if limit.is_reached:
                    return
                yield limit.cut(line.render(timestamps=options.timestamps))

    async def _follow(self, pod: Tree, container: str, output: _Output) -> AsyncIterator[LogLine]:
        """Yield output until the container terminates."""
        instance = container_status(pod, container).get("containerID")
        while (now := self._find(pod)) is not None and is_running(now, container):
            if container_status(now, container).get("containerID") != instance:
                return
            for line in output.written(self._clock.now()):
                yield line
            await self._clock.sleep(_POLL_SECONDS)
        ended = (container_status(now or {}, container).get("state") or {}).get("terminated")
        for line in output.written(parse_time(ended["finishedAt"])) if ended else ():
            yield line

    def _output(self, pod: Tree, container: str) -> tuple[tuple[float, str], ...]:
        """Return the output of a container with the seconds since its start."""
        text = self._annotation(pod, LOGS)
        if text is None:
            program = next(
                (
                    program_of(container_spec)
                    for container_spec in _containers(pod)
                    if container_spec["name"] == container
                ),
                None,
            )
            if program is not None:
                return program.output
        lines = self._fill(_DEFAULT_LOG if text is None else text, pod, container).splitlines()
        return tuple((0.0, f"{line}\n") for line in lines)

    async def execute(self, pod: Tree, container: str, command: Sequence[str], streams: Streams) -> int:
        """Return the annotated output and exit code for any command."""
        self._check_runs(pod, container)
        output = self._annotation(pod, EXEC_OUTPUT)
        await streams.write(self._fill(_DEFAULT_OUTPUT if output is None else output, pod, container).encode())
        code = self._annotation(pod, EXEC_CODE) or "0"
        return int(code) if code.isdigit() else 1

    async def attach(self, pod: Tree, container: str, streams: Streams) -> None:
        """Write the output until the container terminates.

        A terminated container is served too, because a simulated command may end before a client attaches.
        """
        status = container_status(pod, container)
        state = status.get("state") or {}
        if "terminated" not in state:
            self._check_runs(pod, container)
        run = next(iter(state.values()))
        output = _Output(self._output(pod, container), parse_time(run["startedAt"]))
        ended = run.get("finishedAt")
        for line in output.written(parse_time(ended) if ended else self._clock.now()):
            await streams.write(line.render(timestamps=False))
        async for line in self._follow(pod, container, output):
            await streams.write(line.render(timestamps=False))

    async def connect(self, pod: Tree, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Reject the connection: simulated containers do not listen."""
        raise RequestError(f"pod {pod['metadata']['name']} is simulated: no process listens on port {port}")

    def _check_runs(self, pod: Tree, container: str) -> None:
        if not is_running(pod, container):
            raise RequestError(f'container not found ("{container}")', code=500)

    def _annotation(self, pod: Tree, name: str) -> str | None:
        """Return an annotation of the pod, or else of its node."""
        for owner in (pod, self._node_of(pod)):
            text = ((owner or {"metadata": {}})["metadata"].get("annotations") or {}).get(name)
            if text is not None:
                return str(text)
        return None

    def _fill(self, text: str, pod: Tree, container: str) -> str:
        """Replace the placeholders of a text."""
        metadata, node = pod["metadata"], self._node_of(pod) or {"metadata": {"name": ""}}
        for word, value in (
            ("{pod}", metadata["name"]),
            ("{namespace}", metadata.get("namespace", "")),
            ("{container}", container),
            ("{node}", node["metadata"]["name"]),
        ):
            text = text.replace(word, value)
        return text
