"""One local process in a group and session of its own, which ends when this process does."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import termios
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.nodes.processes import guard as guard_program

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    Sink = Callable[[bytes, bool], Awaitable[None]]

_PIECE_BYTES: Final = 32 * 1024
_PR_SET_PDEATHSIG: Final = 1
#: How long output is waited for after the process has ended: others may have inherited it.
_DRAIN_SECONDS: Final = 0.5
_libc: Final = ctypes.CDLL(None)


class Launch(NamedTuple):
    """What is to be run, with which variables, and where."""

    words: Sequence[str]
    environment: Mapping[str, str]
    directory: Path


class Guard:
    """Another process that kills the groups it was told of when this one is gone. Started with the first."""

    def __init__(self) -> None:
        #: Goes with this process; None: nothing does.
        self.folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """A group has come."""
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 — ourselves
                [sys.executable, "-I", "-S", str(guard_program.__file__), *([str(self.folder)] if self.folder else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        self._say(f"+{group}\n")

    def remove(self, group: int) -> None:
        """A group has gone."""
        self._say(f"-{group}\n")

    def close(self) -> None:
        """Have it kill what is left, and end. Idempotent."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()

    def _say(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # somebody has killed it; PDEATHSIG is left
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _take_terminal(terminal: int) -> None:
    """In a session of its own, which must be there before it can have a terminal."""
    _die_with_parent()
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


class Process:
    """A started process."""

    def __init__(self, process: asyncio.subprocess.Process, guard: Guard, *, terminal: int | None) -> None:
        self._process = process
        self._guard = guard
        #: Our end of its terminal; None: it has none.
        self.terminal = terminal

    @classmethod
    async def start(cls, launch: Launch, *, guard: Guard, stdin: bool = False, tty: bool = False) -> Process:
        """Raises ``OSError`` when it cannot be started."""
        ours, theirs = os.openpty() if tty else (None, None)
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        path = launch.environment.get("PATH")
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.words,
                stdin=theirs if theirs is not None else pipe if stdin else null,
                stdout=theirs if theirs is not None else pipe,
                stderr=theirs if theirs is not None else pipe,
                cwd=launch.directory,
                env={**launch.environment, **({} if path else {"PATH": os.defpath})},
                start_new_session=theirs is None,
                preexec_fn=_die_with_parent if theirs is None else partial(_take_terminal, theirs),  # system calls only
            )
        except BaseException:
            if ours is not None:
                os.close(ours)
            raise
        finally:
            if theirs is not None:
                os.close(theirs)
        guard.add(process.pid)
        return cls(process, guard, terminal=ours)

    @property
    def pid(self) -> int:
        """Of the process, and of its group."""
        return self._process.pid

    async def wait(self, sink: Sink) -> int:
        """Hand all output to ``sink``, with True for that of standard error, until it ends; its exit code."""
        if self.terminal is not None:
            readers = [asyncio.create_task(self._read_terminal(sink), name=f"terminal of {self.pid}")]
        else:
            streams = ((self._process.stdout, False), (self._process.stderr, True))
            readers = [
                asyncio.create_task(_read(stream, sink, error=error), name=f"output of {self.pid}")
                for stream, error in streams
                if stream is not None
            ]
        try:
            code = await self._process.wait()
            await asyncio.wait(readers, timeout=_DRAIN_SECONDS)
        finally:
            self._end_group()
            for reader in readers:
                reader.cancel()
            await asyncio.wait(readers)
        return code if code >= 0 else 128 - code

    def _end_group(self) -> None:
        self.signal(signal.SIGKILL)
        self._guard.remove(self.pid)
        if self.terminal is not None:
            terminal, self.terminal = self.terminal, None
            os.close(terminal)

    def signal(self, number: int) -> None:
        """To the process and all it has started that stayed in its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def write(self, data: bytes) -> None:
        """To its standard input; empty: there is no more."""
        if self.terminal is not None:
            await asyncio.get_running_loop().run_in_executor(None, _write_all, self.terminal, data or b"\x04")
            return
        if self._process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if data:
                self._process.stdin.write(data)
                await self._process.stdin.drain()
            else:
                self._process.stdin.close()

    def resize(self, *, width: int, height: int) -> None:
        """Of its terminal, in characters."""
        if self.terminal is not None:
            termios.tcsetwinsize(self.terminal, (height, width))

    async def _read_terminal(self, sink: Sink) -> None:
        loop, terminal = asyncio.get_running_loop(), self.terminal
        assert terminal is not None
        readable = asyncio.Event()
        loop.add_reader(terminal, readable.set)
        try:
            while True:
                await readable.wait()
                readable.clear()
                data = os.read(terminal, _PIECE_BYTES)
                if not data:
                    return
                await sink(data, False)
        except OSError:  # nobody has the other end any more
            return
        finally:
            loop.remove_reader(terminal)


async def _read(stream: asyncio.StreamReader, sink: Sink, *, error: bool) -> None:
    while data := await stream.read(_PIECE_BYTES):
        await sink(data, error)


def _write_all(fd: int, data: bytes) -> None:
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(fd, data) :]
