"""Lifecycle of a serving process: start, wait for a reason to stop, drain, report.

Reasons are SIGINT, SIGTERM, and the exit of the parent process. A second signal stops immediately.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Final, Protocol

from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.options import OptionError
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)

#: Exit code when the options, the files or the port cannot be used.
EXIT_REFUSED: Final = 1
_PR_SET_PDEATHSIG: Final = 1


class StartError(RuntimeError):
    """The start failed; the message is for the user."""


class Stoppable(Protocol):
    """Interface of a process's server."""

    async def stop(self, *, grace_seconds: float | None = None) -> None:
        """Drain, then close. Called again with 0 after a second reason to stop."""


class StopReasons:
    """Reasons to stop; ``wait`` returns at the first, ``wait_for_second`` at the second."""

    def __init__(self) -> None:
        self._first = asyncio.Event()
        self._second = asyncio.Event()

    def give(self, reason: str) -> None:
        """Add a reason."""
        _log.info("stopping: %s", reason)
        (self._second if self._first.is_set() else self._first).set()

    def listen(self) -> None:
        """Add signals as reasons."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.give, signal.Signals(number).name)

    def follow_pipe(self, fd: int) -> None:
        """Add the end of a pipe as a reason: its other end closes when the process that holds it exits."""
        loop = asyncio.get_running_loop()

        def readable() -> None:
            try:
                data = os.read(fd, 1024)
            except ConnectionResetError:  # a socket whose other end had unread data
                data = b""
            if not data:
                loop.remove_reader(fd)
                self.give("the parent has gone")

        loop.add_reader(fd, readable)
        if hasattr(os, "O_ASYNC"):  # see ``cli.signals.exit_with_parent``; the loop has taken over
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)

    async def wait(self) -> None:
        """Wait for the first reason."""
        await self._first.wait()

    async def wait_for_second(self) -> None:
        """Wait for the second reason."""
        await self._second.wait()


def die_with_parent() -> None:
    """Request SIGTERM from the kernel when the parent (the thread that started this process) exits."""
    import ctypes  # noqa: PLC0415 — rarely needed

    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OptionError(f"--die-with-parent: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # the parent exited before the request
        os.kill(os.getpid(), signal.SIGTERM)


async def run_until_stopped(start: Callable[[], Awaitable[Stoppable]], *, parent_pipe: int | None = None) -> int:
    """Start, wait for a reason to stop, stop. Returns the exit code."""
    reasons = StopReasons()
    reasons.listen()
    if parent_pipe is not None:
        reasons.follow_pipe(parent_pipe)
    stop = asyncio.create_task(reasons.wait(), name="reason to stop")
    starting = asyncio.ensure_future(start())
    await asyncio.wait([starting, stop], return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
    try:
        running = await starting
    except asyncio.CancelledError:
        return 0
    except (OptionError, StartError, BootstrapError, StoreError, OSError) as error:  # ssl.SSLError is an OSError
        sys.stderr.write(f"steersman: {error}\n")
        return EXIT_REFUSED
    await stop
    await _stop(running, reasons)
    return 0


async def _stop(running: Stoppable, reasons: StopReasons) -> None:
    second_reason = asyncio.create_task(reasons.wait_for_second(), name="second reason to stop")
    stopping = asyncio.ensure_future(running.stop())
    await asyncio.wait([stopping, second_reason], return_when=asyncio.FIRST_COMPLETED)
    if not stopping.done():
        stopping.cancel()
        await asyncio.wait([stopping])
        await running.stop(grace_seconds=0)
    second_reason.cancel()
