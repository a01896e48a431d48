"""Commands in child processes: restarted when they fail, stopped before their parent exits."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for
from steersman.controlplane.child_process import ChildProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.asynckit.clock import Clock

_log = logging.getLogger(__name__)

#: Initial delay before a failed process is restarted, and its maximum.
_RESTART: Final = BackoffPolicy(0.5, 30.0)
#: A process that ran this long resets the backoff.
_STEADY_SECONDS: Final = 60.0
#: Grace period of a stop.
STOP_SECONDS: Final = 15.0
#: Failures before ``wait_ready`` gives up.
FAILURES_MAX: Final = 3
_RECEIVE_BYTES: Final = 4096


class ChildFailedError(RuntimeError):
    """The process exited repeatedly before it was ready."""


class Child:
    """Process ``steersman COMMAND FLAGS``, kept running while this object is started."""

    def __init__(
        self,
        command: str,
        *,
        clock: Clock,
        process: ChildProcess | None = None,
        spawn: Callable[[str], ChildProcess] = ChildProcess.spawn,
    ) -> None:
        """``process``: a spawned process that waits for its flags."""
        self._command = command
        self._clock = clock
        self._spawn = spawn
        self._supervisor = Supervisor(f"child {command}")
        self._current = process
        self._failures = 0
        self._ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(_mark_retrieved)
        #: Pending step of the process before it is ready.
        self.waiting_for = f"the {command} process"

    def start(self, arguments: Sequence[str]) -> None:
        """Run the command with these flags, now and after each failure. Returns immediately."""
        self._supervisor.start("keeper", self._keep(arguments))

    async def wait_ready(self) -> str:
        """Wait until the process reports that it is ready; return its text. Raises ``ChildFailedError``."""
        return await asyncio.shield(self._ready)

    async def stop(self, *, grace_seconds: float = STOP_SECONDS) -> None:
        """Request the end of the process, wait for it, and kill the process after a timeout. Idempotent.

        Without grace it is killed at once. The process has ended also when this is cancelled and called again.
        """
        await self._supervisor.close()
        child = self._current
        if child is None:
            return
        try:
            if grace_seconds > 0 and child.process.poll() is None:
                child.process.terminate()
                await wait_for(self._wait(child), grace_seconds, clock=self._clock)
        except TimeoutError:
            _log.warning("%s did not end within %s seconds, killing it", self._command, grace_seconds)
        self._current = None
        child.kill()

    @property
    def pid(self) -> int | None:
        """Process ID; None while no process is running."""
        return self._current.process.pid if self._current is not None else None

    async def _keep(self, arguments: Sequence[str]) -> None:
        backoff = Backoff(_RESTART)
        while True:
            started = self._clock.monotonic()
            code = await self._run(arguments)
            if self._clock.monotonic() - started >= _STEADY_SECONDS:
                backoff.reset()
            self._count_failure(code)
            _log.warning("%s ended with code %s, starting it again", self._command, code)
            await self._clock.sleep(backoff.next_seconds())

    def _count_failure(self, code: int) -> None:
        self._failures += 1
        if self._failures >= FAILURES_MAX and not self._ready.done():
            text = f"the {self._command} process ended {self._failures} times before it was ready, with code {code}"
            self._ready.set_exception(ChildFailedError(text))

    async def _run(self, arguments: Sequence[str]) -> int:
        if self._current is None:
            self._current = self._spawn(self._command)
        child, loop = self._current, asyncio.get_running_loop()
        child.send_arguments(arguments)
        received = bytearray()
        loop.add_reader(child.socket, lambda: self._receive(child, received))
        try:
            code = await self._wait(child)
        finally:
            loop.remove_reader(child.socket)
        self._current = None
        child.kill()
        return code

    async def _wait(self, child: ChildProcess) -> int:
        # A dedicated thread would end with the process as well; asyncio's subprocesses lose one whose start is
        # cancelled.
        return await asyncio.to_thread(child.process.wait)

    def _receive(self, child: ChildProcess, received: bytearray) -> None:
        try:
            data = child.socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(child.socket)
            return
        received += data
        *lines, rest = bytes(received).split(b"\n")
        received[:] = rest
        for line in lines:
            verb, _, text = line.decode(errors="replace").partition(" ")
            if verb == "waiting":
                self.waiting_for = text
            elif verb == "ready" and not self._ready.done():
                self._ready.set_result(text)


def _mark_retrieved(ready: asyncio.Future[str]) -> None:
    """Retrieve an exception that is not awaited; the exit of the process is logged already."""
    if not ready.cancelled():
        ready.exception()
