"""Containers that do not exist: their logs and answers are what annotations of the pod, or else of its node, say.

``{pod}``, ``{namespace}``, ``{container}`` and ``{node}`` in these texts stand for the names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import parse_time
from steersman.nodes.kubelet.hosting import Refusal, check_has_logs, container_status, is_running
from steersman.nodes.kubelet.log_lines import Limit, LogLine, nano_time, tail

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.hosting import Streams
    from steersman.nodes.kubelet.log_lines import LogOptions

    Tree = dict[str, Any]

LOGS: Final = "nodes.steersman.dev/logs"
EXEC_OUTPUT: Final = "nodes.steersman.dev/exec-output"
EXEC_CODE: Final = "nodes.steersman.dev/exec-code"
_DEFAULT_LOG: Final = "{pod}: {container} is simulated\n"
_DEFAULT_OUTPUT: Final = "{pod}: {container} is simulated\n"
#: How often a log that is followed is looked at for the container's end.
_LOOK_SECONDS: Final = 1.0


class SimulatedHost:
    """Answers for every pod; ``find`` gives the newest state of a pod, ``node_of`` its node."""

    def __init__(
        self, find: Callable[[Tree], Tree | None], node_of: Callable[[Tree], Tree | None], *, clock: Clock
    ) -> None:
        self._find = find
        self._node_of = node_of
        self._clock = clock

    def has(self, pod: Tree) -> bool:
        """All."""
        return True

    async def logs(self, pod: Tree, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """The text, as if it had been written when the container started."""
        status = check_has_logs(pod, container, previous=options.previous)
        state = status.get("lastState" if options.previous else "state") or {}
        since = next((each.get("startedAt") for each in state.values()), None)
        moment = nano_time(parse_time(since) if since else self._clock.now())
        said = self._text(pod, container, LOGS, _DEFAULT_LOG).encode()
        lines = [LogLine(moment, b"stdout", True, line) for line in said.splitlines()]
        limit = Limit(options.limit_bytes)
        for line in tail(lines, options):
            yield limit.cut(line.shown(timestamps=options.timestamps))
        if options.follow and not options.previous and not limit.is_reached:
            await self._ended(pod, container)

    async def execute(self, pod: Tree, container: str, command: Sequence[str], streams: Streams) -> int:
        """The output and exit code that are said, whatever the command."""
        self._check_runs(pod, container)
        await streams.write(self._text(pod, container, EXEC_OUTPUT, _DEFAULT_OUTPUT).encode())
        code = self._text(pod, container, EXEC_CODE, "0")
        return int(code) if code.isdigit() else 1

    async def attach(self, pod: Tree, container: str, streams: Streams) -> int:
        """The log, and then nothing until the container ends."""
        self._check_runs(pod, container)
        await streams.write(self._text(pod, container, LOGS, _DEFAULT_LOG).encode())
        await self._ended(pod, container)
        return 0

    async def connect(self, pod: Tree, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Nobody listens."""
        raise Refusal(f"pod {pod['metadata']['name']} is simulated: nobody listens on port {port}")

    def _check_runs(self, pod: Tree, container: str) -> None:
        if not is_running(pod, container):
            raise Refusal(f'container not found ("{container}")', code=500)

    async def _ended(self, pod: Tree, container: str) -> None:
        instance = container_status(pod, container).get("containerID")
        while (now := self._find(pod)) is not None and is_running(now, container):
            if container_status(now, container).get("containerID") != instance:
                return
            await self._clock.sleep(_LOOK_SECONDS)

    def _text(self, pod: Tree, container: str, name: str, default: str) -> str:
        node = self._node_of(pod) or {"metadata": {"name": ""}}
        said = default
        for owner in (node, pod):
            said = (owner["metadata"].get("annotations") or {}).get(name, said)
        metadata = pod["metadata"]
        for word, value in (
            ("{pod}", metadata["name"]),
            ("{namespace}", metadata.get("namespace", "")),
            ("{container}", container),
            ("{node}", node["metadata"]["name"]),
        ):
            said = said.replace(word, value)
        return said
