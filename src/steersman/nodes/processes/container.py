"""The life of one container: it is started, started again as its policy says, and stopped."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any, Final, Protocol

from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for, woken
from steersman.nodes.processes.fields import ConfigError
from steersman.nodes.processes.log_file import LogFile
from steersman.nodes.processes.probes import Verdict, passes
from steersman.nodes.processes.process import Process
from steersman.nodes.processes.statuses import Facts, Running, Terminated, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.nodes.processes.process import Guard, Launch

    Tree = dict[str, Any]

#: As the kubelet's: the first restart comes at once, the next after 10 seconds; 10 minutes without an end forgive all.
_RESTART: Final = BackoffPolicy(10.0, 300.0)
_FORGIVEN_SECONDS: Final = 600.0
#: Something that the container needs is not there; it is looked for again.
_CONFIG_SECONDS: Final = 5.0
_START_ERROR_CODE: Final = 128
#: Output that waits for one who is attached and reads slowly; more is lost to them.
_PIECES_MAX: Final = 256

Piece = tuple[bytes, bool]


class Surroundings(Protocol):
    """What a container gets from its pod."""

    clock: Clock
    guard: Guard

    async def launch(self, container: Tree) -> Launch:
        """What to run. Raises ``ConfigError``."""

    def log_path(self, container: str, run: int) -> Path:
        """Where the log of its nth run lies."""

    def describe(self, container: str) -> str:
        """It and its pod, for messages."""

    def event(self, kind: str, reason: str, message: str) -> None:
        """Tell of something that has happened, ``Normal`` or ``Warning``."""


class ContainerLife:
    """``facts`` are what is known; ``changed`` is called when they change."""

    def __init__(
        self, container: Tree, around: Surroundings, facts: Facts, *, uid: str, changed: Callable[[], None]
    ) -> None:
        self.container = container
        self.facts = facts
        self._around = around
        self._uid = uid
        self._changed = changed
        self._backoff = Backoff(_RESTART)
        self._crashed = False
        #: It is to end: nobody waits for anything else any more.
        self._stop = asyncio.Event()
        #: It has passed its startup probe once, or is to end.
        self.begun = asyncio.Event()
        #: What runs now, and what it was started with.
        self.process: Process | None = None
        self.launched: Launch | None = None
        #: Logs of this run and the one before it.
        self.log: LogFile | None = None
        self.previous_log: LogFile | None = None
        #: Who is attached; None is the end.
        self.listeners: set[asyncio.Queue[Piece | None]] = set()

    @property
    def name(self) -> str:
        """Of the container."""
        return str(self.container["name"])

    async def run(self, restarts: Callable[[int], bool]) -> int:
        """Until it has ended for good; its last exit code. ``restarts`` says of a code whether it is started again."""
        while True:
            state = self.facts.state
            if isinstance(state, Terminated):
                if self._stop.is_set() or not restarts(state.code):
                    return state.code
                await self._back_off(state)
            if self._stop.is_set():
                return 0 if self.facts.last is None else self.facts.last.code
            try:
                self.launched = await self._around.launch(self.container)
            except ConfigError as error:
                self._say(Waiting("CreateContainerConfigError", str(error)))
                await woken(self._stop, _CONFIG_SECONDS, clock=self._around.clock)
                continue
            await self._run_once(self.launched)

    async def _back_off(self, ended: Terminated) -> None:
        if (ended.ended - ended.since).total_seconds() >= _FORGIVEN_SECONDS:
            self._backoff.reset()
            self._crashed = False
        self.facts.last = ended
        if self._crashed:
            seconds = self._backoff.next_seconds()
            what = self._around.describe(self.name)
            self._say(Waiting("CrashLoopBackOff", f"back-off {seconds:.0f}s restarting failed {what}"))
            self._around.event("Warning", "BackOff", f"Back-off restarting failed {what}")
            await woken(self._stop, seconds, clock=self._around.clock)
        self._crashed = True
        if not self._stop.is_set():
            self.facts.restarts += 1

    async def _run_once(self, launch: Launch) -> None:
        clock = self._around.clock
        since, instance = clock.now(), f"process://{self._uid}/{self.name}/{self.facts.restarts}"
        if self.previous_log is not None:
            self.previous_log.close()
        self.previous_log = self.log
        self.log = LogFile(self._around.log_path(self.name, self.facts.restarts), clock=clock)
        try:
            wants_stdin = bool(self.container.get("stdin"))
            self.process = process = await Process.start(launch, guard=self._around.guard, stdin=wants_stdin)
        except OSError as error:
            self.log.close()
            why = f'exec: "{launch.words[0]}": {(error.strerror or str(error)).lower()}'
            self._say(Terminated(_START_ERROR_CODE, since, clock.now(), instance, "StartError", why))
            self._around.event("Warning", "Failed", f"Error: {why}")
            return
        self._around.event("Normal", "Started", f"Started container {self.name}")
        probed = any(self.container.get(each) for each in ("startupProbe", "readinessProbe", "livenessProbe"))
        self.facts.started = not self.container.get("startupProbe")
        self.facts.ready = self.facts.started and not self.container.get("readinessProbe")
        self._say(Running(since, instance), keep=True)
        if self.facts.started:
            self.begun.set()
        tasks = Supervisor(f"container {self.name}")
        try:
            if probed:
                tasks.start("probes", self._probe(process))
            code = await process.wait(self._take)
        except BaseException:
            process.signal(signal.SIGKILL)
            raise
        finally:
            self.process = None
            self.log.close()
            await tasks.close()
            self._hear(None)
        self._say(Terminated(code, since, clock.now(), instance))

    def _say(self, state: Running | Terminated | Waiting, *, keep: bool = False) -> None:
        self.facts.state = state
        if not keep:
            self.facts.started = self.facts.ready = False
        self._changed()

    async def _take(self, data: bytes, error: bool) -> None:  # noqa: FBT001 — as ``Process.wait`` calls it
        assert self.log is not None
        self.log.write(data, error=error)
        self._hear((data, error))

    def _hear(self, piece: Piece | None) -> None:
        for listener in self.listeners:
            if listener.full():
                listener.get_nowait()
            listener.put_nowait(piece)

    def attach(self) -> asyncio.Queue[Piece | None]:
        """What it says from now on, until its end (None). Give it back to ``detach``."""
        queue: asyncio.Queue[Piece | None] = asyncio.Queue(_PIECES_MAX)
        self.listeners.add(queue)
        return queue

    def detach(self, queue: asyncio.Queue[Piece | None]) -> None:
        """Not interested any more. Idempotent."""
        self.listeners.discard(queue)

    # Probes and hooks

    async def execute(self, words: Sequence[str]) -> int:
        """Run a command beside the container, unseen; its exit code."""
        if self.launched is None:
            return 1
        launch = self.launched._replace(words=list(words))
        process = await Process.start(launch, guard=self._around.guard)
        try:
            return await process.wait(_drop)
        finally:
            process.signal(signal.SIGKILL)

    async def _probe(self, process: Process) -> None:
        startup = self.container.get("startupProbe")
        if startup and not await self._watch(startup, Verdict(startup, passing=False), until_passing=True):
            process.signal(signal.SIGKILL)
            return
        self.facts.started = True
        self.begun.set()
        self.facts.ready = not self.container.get("readinessProbe")
        self._changed()
        watches: list[Coroutine[Any, Any, object]] = []
        if readiness := self.container.get("readinessProbe"):
            watches.append(self._watch(readiness, Verdict(readiness, passing=False), sets_ready=True))
        if liveness := self.container.get("livenessProbe"):
            watches.append(self._keep_alive(liveness, process))
        await asyncio.gather(*watches)

    async def _keep_alive(self, probe: Tree, process: Process) -> None:
        await self._watch(probe, Verdict(probe, passing=True), until_failing=True)
        process.signal(signal.SIGTERM)
        await self._around.clock.sleep(float(probe.get("terminationGracePeriodSeconds") or 30))
        process.signal(signal.SIGKILL)

    async def _watch(
        self,
        probe: Tree,
        verdict: Verdict,
        *,
        until_passing: bool = False,
        until_failing: bool = False,
        sets_ready: bool = False,
    ) -> bool:
        """Ask again and again; what it has come to."""
        clock = self._around.clock
        await clock.sleep(float(probe.get("initialDelaySeconds") or 0))
        failures = 0
        while True:
            answer = await passes(probe, self.container, execute=self.execute, clock=clock)
            failures = 0 if answer else failures + 1
            if verdict.count(answer) and sets_ready:
                self.facts.ready = verdict.passing
                self._changed()
            if until_passing and (verdict.passing or failures >= (probe.get("failureThreshold") or 3)):
                return verdict.passing
            if until_failing and not verdict.passing:
                return False
            await clock.sleep(float(probe.get("periodSeconds") or 10))

    # The end

    async def stop(self, grace_seconds: float) -> None:
        """Have it end: its ``preStop`` hook, SIGTERM, and SIGKILL when the grace is over. No restart follows."""
        self._stop.set()
        self.begun.set()
        if self.process is None:
            return
        self._around.event("Normal", "Killing", f"Stopping container {self.name}")
        clock = self._around.clock
        begun = clock.monotonic()
        hook = ((self.container.get("lifecycle") or {}).get("preStop") or {}).get("exec")
        if hook and grace_seconds > 0:
            try:
                await wait_for(self.execute(hook.get("command") or ()), grace_seconds, clock=clock)
            except (OSError, TimeoutError):
                self._hear((b"", True))  # the hook's failure does not hold the end up
        self._signal(signal.SIGTERM if grace_seconds > 0 else signal.SIGKILL)
        left = max(0.0, grace_seconds - (clock.monotonic() - begun))
        if not await self._ends_within(left):
            self._signal(signal.SIGKILL)
            await self._ends_within(None)

    def _signal(self, number: int) -> None:
        if self.process is not None:
            self.process.signal(number)

    async def _ends_within(self, seconds: float | None) -> bool:
        queue = self.attach()
        try:
            await wait_for(self._ended(queue), seconds, clock=self._around.clock)
        except TimeoutError:
            return False
        finally:
            self.detach(queue)
        return True

    async def _ended(self, queue: asyncio.Queue[Piece | None]) -> None:
        while self.process is not None and await queue.get() is not None:
            pass


async def _drop(data: bytes, error: bool) -> None:  # noqa: FBT001 — as ``Process.wait`` calls it
    """Nobody wants to know."""
