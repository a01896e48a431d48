"""SIGINT and SIGTERM outside the event loop: while modules are imported, and after the loop has ended.

A long-running command handles both on its loop (``controlplane.process.StopReasons``). Before, they end the process immediately
with exit code 0, which is safe because only the processes of ``kill_on_exit`` exist. Afterwards they are ignored: everything is
closed, and a second signal must not change the exit code.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Sequence
    from types import FrameType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_PARENT_PIPE: Final = "--parent-pipe="
_killed_on_exit: Final[list[int]] = []
_is_installed = False
_is_deferred = False
_is_pending = False


def exit_on_signals() -> None:
    """Install the handlers; the loop's replace them."""
    global _is_installed  # noqa: PLW0603 — handlers belong to the process
    for number in _SIGNALS:
        signal.signal(number, _exit)
    _is_installed = True


def exit_with_parent(arguments: Sequence[str]) -> None:
    """Exit when the other end of ``--parent-pipe`` is closed, until ``StopReasons.follow_pipe`` takes over.

    The kernel sends SIGIO, where supported for pipes; elsewhere the end is detected once the loop runs.
    """
    numbers = [argument.removeprefix(_PARENT_PIPE) for argument in arguments if argument.startswith(_PARENT_PIPE)]
    if not numbers or not numbers[0].isdigit() or not hasattr(os, "O_ASYNC"):
        return
    fd = int(numbers[0])

    def check(_number: int, _frame: FrameType | None) -> None:
        ends = select.poll()
        ends.register(fd, 0)  # hang-up is always reported
        if ends.poll(0):
            _exit(signal.SIGIO, None)

    signal.signal(signal.SIGIO, check)
    with suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
        check(signal.SIGIO, None)


def kill_on_exit(pid: int) -> None:
    """Register a child process without unfinished work, to be killed and reaped by ``_exit``."""
    _killed_on_exit.append(pid)


@contextmanager
def deferred() -> Iterator[None]:
    """Delay ``_exit`` until the end of the block. Signals are not blocked, because a child process would inherit that."""
    global _is_deferred  # noqa: PLW0603
    _is_deferred = True
    try:
        yield
    finally:
        _is_deferred = False
        if _is_pending:
            _exit(0, None)


def ignore_signals(loop: asyncio.AbstractEventLoop) -> None:
    """Ignore both signals until the process ends, in all threads.

    No effect unless ``exit_on_signals`` was called. Must be called before the loop is closed, which would restore the default
    actions of its signals.
    """
    if _is_installed:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


def _exit(_number: int, _frame: FrameType | None) -> None:
    global _is_pending  # noqa: PLW0603
    if _is_deferred:
        _is_pending = True
        return
    for pid in _killed_on_exit:
        with suppress(OSError):  # the process has ended and was reaped
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    os._exit(0)
