"""Runner of one container: start, restart by policy, probes, hooks, and stop."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any, Final, Protocol

from steersman.apimachinery.gotext import errno_text
from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for, woken
from steersman.nodes.processes.fields import ContainerConfigError
from steersman.nodes.processes.hooks import run_hook
from steersman.nodes.processes.log_file import LogFile
from steersman.nodes.processes.prober import Prober
from steersman.nodes.processes.process import Process
from steersman.nodes.processes.statuses import ContainerFacts, Running, Terminated, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from datetime import datetime
    from pathlib import Path

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.nodes.processes.process import Guard, Launch


#: The kubelet's schedule: immediate first restart, then 10 seconds; a run of 10 minutes resets the back-off.
_RESTART_BACKOFF: Final = BackoffPolicy(10.0, 300.0)
_BACKOFF_RESET_SECONDS: Final = 600.0
#: Retry interval while a ConfigMap or Secret that the container needs is missing.
_CONFIG_RETRY_SECONDS: Final = 5.0
_START_ERROR_CODE: Final = 128
#: Exit code for the restart policy when a probe has killed the container, whatever its own exit code.
_UNHEALTHY_CODE: Final = 128 + signal.SIGKILL
#: Output chunks buffered per attached client; a slow client loses the oldest.
_CHUNKS_MAX: Final = 256
#: Maximum output of a probe's command in its event, as upstream's ``maxRespBodyLength``.
_EXEC_OUTPUT_BYTES_MAX: Final = 10 * 1024

Chunk = tuple[bytes, bool]


class ContainerContext(Protocol):
    """Interface of the pod for its containers."""

    clock: Clock
    guard: Guard

    async def launch(self, container: Tree) -> Launch:
        """Return the process to run. Raises ``ContainerConfigError``."""

    def log_path(self, container: str, run: int) -> Path:
        """Return the path of the log of a run, by its number."""

    def describe(self, container: str) -> str:
        """Return container and pod in the format of the kubelet's messages."""

    def event(self, kind: str, reason: str, message: str, *, container: str) -> None:
        """Record an event of type ``Normal`` or ``Warning`` about a container."""

    def grace_seconds(self) -> float:
        """Return the pod's termination grace period."""

    def termination_message(self, container: Tree, *, code: int, log: bytes) -> str:
        """Return the termination message of a container with an exit code and a log."""


class ContainerRunner:
    """Runner of one container; it updates ``facts`` and calls ``changed`` after each update."""

    def __init__(
        self,
        container: Tree,
        context: ContainerContext,
        facts: ContainerFacts,
        *,
        uid: str,
        changed: Callable[[], None],
    ) -> None:
        self.container = container
        self.facts = facts
        self._context = context
        self._uid = uid
        self._changed = changed
        self._backoff = Backoff(_RESTART_BACKOFF)
        self._crashed = False
        #: True if a probe has killed the current run.
        self._is_unhealthy = False
        #: Set while the container is being stopped; ends all other waits.
        self._stop = asyncio.Event()
        #: Set when the startup probe has passed once, or the container is being stopped.
        self.startup_done = asyncio.Event()
        #: The running process and its parameters.
        self.process: Process | None = None
        self.launched: Launch | None = None
        #: Logs of the current and the previous run.
        self.log: LogFile | None = None
        self.previous_log: LogFile | None = None
        #: Queues of attached clients; None marks the end of a run.
        self.listeners: set[asyncio.Queue[Chunk | None]] = set()

    @property
    def name(self) -> str:
        """Name of the container."""
        return str(self.container["name"])

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record an event of type ``Normal`` or ``Warning``."""
        self._context.event(kind, reason, message, container=self.name)

    async def run(self, restarts: Callable[[int], bool]) -> int:
        """Run until the container has terminated without a further restart; return its last exit code. ``restarts`` is the
        restart policy by exit code.
        """
        while True:
            state = self.facts.state
            if isinstance(state, Terminated):
                if self._stop.is_set() or not restarts(_UNHEALTHY_CODE if self._is_unhealthy else state.code):
                    return state.code
                await self._back_off(state)
            if self._stop.is_set():
                return 0 if self.facts.last is None else self.facts.last.code
            try:
                self.launched = await self._context.launch(self.container)
            except ContainerConfigError as error:
                self._set_state(Waiting("CreateContainerConfigError", str(error)))
                await woken(self._stop, _CONFIG_RETRY_SECONDS, clock=self._context.clock)
                continue
            await self._run_once(self.launched)

    async def _back_off(self, ended: Terminated) -> None:
        if (ended.ended - ended.since).total_seconds() >= _BACKOFF_RESET_SECONDS:
            self._backoff.reset()
            self._crashed = False
        self.facts.last = ended
        if self._crashed:
            seconds = self._backoff.next_seconds()
            description = self._context.describe(self.name)
            self._set_state(Waiting("CrashLoopBackOff", f"back-off {seconds:.0f}s restarting failed {description}"))
            self.event("Warning", "BackOff", f"Back-off restarting failed {description}")
            await woken(self._stop, seconds, clock=self._context.clock)
        self._crashed = True
        if not self._stop.is_set():
            self.facts.restarts += 1

    async def _run_once(self, launch: Launch) -> None:
        clock = self._context.clock
        self._is_unhealthy = False
        since, instance = clock.now(), f"process://{self._uid}/{self.name}/{self.facts.restarts}"
        if self.previous_log is not None:
            self.previous_log.close()
        self.previous_log = self.log
        self.log = LogFile(self._context.log_path(self.name, self.facts.restarts), clock=clock)
        try:
            wants_stdin = bool(self.container.get("stdin"))
            self.process = process = await Process.start(launch, guard=self._context.guard, stdin=wants_stdin)
        except OSError as error:
            self.log.close()
            message = f'exec: "{launch.words[0]}": {errno_text(error)}'
            self._set_start_error(message, since, instance)
            return
        if self._stop.is_set():  # ``stop`` ran while the process was being started, so it could not signal it
            process.signal(signal.SIGKILL)
        self.event("Normal", "Started", "Container started")
        probed = any(
            self.container.get(probe_name) for probe_name in ("startupProbe", "readinessProbe", "livenessProbe")
        )
        self.facts.started = not self.container.get("startupProbe") and not self._hook("postStart")
        self.facts.ready = self.facts.started and not self.container.get("readinessProbe")
        self._set_state(Running(since, instance), keep=True)
        if self.facts.started:
            self.startup_done.set()
        tasks = Supervisor(f"container {self.name}")
        try:
            tasks.start("hook and probes", self._attend(process, probed=probed))
            code = await process.wait(self._handle_output)
        except BaseException:
            process.signal(signal.SIGKILL)
            raise
        finally:
            self.process = None
            self.log.close()
            await tasks.close()
            self._broadcast(None)
        if message := launch.take_start_error():
            self._set_start_error(message, since, instance)
            return
        message = self._context.termination_message(self.container, code=code, log=self.log.text())
        self._set_state(Terminated(code, since, clock.now(), instance, message=message))

    def _set_start_error(self, message: str, since: datetime, instance: str) -> None:
        now = self._context.clock.now()
        self._set_state(Terminated(_START_ERROR_CODE, since, now, instance, "StartError", message))
        self.event("Warning", "Failed", f"Error: {message}")

    def _set_state(self, state: Running | Terminated | Waiting, *, keep: bool = False) -> None:
        self.facts.state = state
        if not keep:
            self.facts.started = self.facts.ready = False
        self._changed()

    async def _handle_output(self, data: bytes, error: bool) -> None:  # noqa: FBT001 — as ``Process.wait`` calls it
        assert self.log is not None
        self.log.write(data, error=error)
        self._broadcast((data, error))

    def _broadcast(self, chunk: Chunk | None) -> None:
        for listener in self.listeners:
            if listener.full():
                listener.get_nowait()
            listener.put_nowait(chunk)

    def attach(self) -> asyncio.Queue[Chunk | None]:
        """Return a queue of new output, with None at its end. Must be passed to ``detach`` afterwards."""
        queue: asyncio.Queue[Chunk | None] = asyncio.Queue(_CHUNKS_MAX)
        self.listeners.add(queue)
        return queue

    def detach(self, queue: asyncio.Queue[Chunk | None]) -> None:
        """Remove a queue. Idempotent."""
        self.listeners.discard(queue)

    # Probes and hooks

    async def execute(self, words: Sequence[str]) -> int:
        """Run a command in the container's environment, discarding its output; return its exit code."""
        code, _ = await self.execute_for_output(words)
        return code

    async def execute_for_output(self, words: Sequence[str]) -> tuple[int, bytes]:
        """Run a command in the container's environment; return its exit code and the beginning of its output."""
        if self.launched is None or self.process is None:
            return 1, b""
        launch = self.launched.exec_in(self.process, list(words))
        process = await Process.start(launch, guard=self._context.guard)
        output = bytearray()

        async def keep(data: bytes, error: bool) -> None:  # noqa: ARG001, FBT001 — as ``Process.wait`` calls it
            output.extend(data[: _EXEC_OUTPUT_BYTES_MAX - len(output)])

        try:
            return await process.wait(keep), bytes(output)
        finally:
            await process.kill()
            launch.take_start_error()

    def _hook(self, name: str) -> Tree:
        hook: Tree = (self.container.get("lifecycle") or {}).get(name) or {}
        return hook

    async def _attend(self, process: Process, *, probed: bool) -> None:
        """Run the ``postStart`` hook, then the probes. A hook that fails ends the container."""
        if hook := self._hook("postStart"):
            problem = await run_hook(hook, self.container, execute=self.execute, clock=self._context.clock)
            if problem:
                self.event("Warning", "FailedPostStartHook", f"PostStartHook failed: {problem}")
                process.signal(signal.SIGKILL)
                return
            if not probed:
                self.facts.started = self.facts.ready = True
                self.startup_done.set()
                self._changed()
        if probed:
            await self._probe()

    async def _probe(self) -> None:
        """Run the probes of this run of the container; end it when the startup or liveness probe fails."""
        container, clock = self.container, self._context.clock
        prober = Prober(container, execute=self.execute_for_output, events=self, clock=clock)
        if not await prober.wait_until_started():
            await self._kill_unhealthy("startup", container["startupProbe"])
            return
        self.facts.started = True
        self.startup_done.set()
        self.facts.ready = not container.get("readinessProbe")
        self._changed()
        watches: list[Coroutine[Any, Any, None]] = []
        if container.get("readinessProbe"):
            watches.append(prober.watch_readiness(self._set_ready))
        if container.get("livenessProbe"):
            watches.append(self._keep_alive(prober))
        await asyncio.gather(*watches)

    def _set_ready(self, is_ready: bool) -> None:  # noqa: FBT001 — as the prober calls it
        self.facts.ready = is_ready
        self._changed()

    async def _keep_alive(self, prober: Prober) -> None:
        await prober.wait_until_dead()
        await self._kill_unhealthy("liveness", self.container["livenessProbe"])

    async def _kill_unhealthy(self, kind: str, probe: Tree) -> None:
        self._is_unhealthy = True
        seconds = probe.get("terminationGracePeriodSeconds")
        grace_seconds = self._context.grace_seconds() if seconds is None else float(seconds)
        await self._terminate(grace_seconds, f"Container {self.name} failed {kind} probe, will be restarted")

    # Termination

    async def stop(self, grace_seconds: float) -> None:
        """Run the ``preStop`` hook, send SIGTERM, and SIGKILL after the grace period; do not restart."""
        self._stop.set()
        self.startup_done.set()
        if self.process is not None:
            await self._terminate(grace_seconds, f"Stopping container {self.name}")

    async def _terminate(self, grace_seconds: float, message: str) -> None:
        self.event("Normal", "Killing", message)
        clock = self._context.clock
        begin = clock.monotonic()
        hook = self._hook("preStop")
        if hook and grace_seconds > 0:
            try:
                running = run_hook(hook, self.container, execute=self.execute, clock=clock)
                problem = await wait_for(running, grace_seconds, clock=clock)
            except TimeoutError:
                problem = "timed out"
            if problem:  # a failed hook does not delay termination
                self.event("Warning", "FailedPreStopHook", f"PreStopHook failed: {problem}")
        self._signal(signal.SIGTERM if grace_seconds > 0 else signal.SIGKILL)
        remaining = max(0.0, grace_seconds - (clock.monotonic() - begin))
        if not await self._ends_within(remaining):
            self._signal(signal.SIGKILL)
            await self._ends_within(None)

    def _signal(self, number: int) -> None:
        if self.process is not None:
            self.process.signal(number)

    async def _ends_within(self, seconds: float | None) -> bool:
        queue = self.attach()
        try:
            await wait_for(self._ended(queue), seconds, clock=self._context.clock)
        except TimeoutError:
            return False
        finally:
            self.detach(queue)
        return True

    async def _ended(self, queue: asyncio.Queue[Chunk | None]) -> None:
        while self.process is not None and await queue.get() is not None:
            pass
