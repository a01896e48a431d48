"""Local process in its own process group and session, killed when this process ends."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import termios
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from steersman.nodes.processes import guard as guard_program

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from steersman.nodes.processes.isolation import Sandbox

    Sink = Callable[[bytes, bool], Awaitable[None]]

_CHUNK_BYTES: Final = 32 * 1024
_PR_SET_PDEATHSIG: Final = 1
#: Timeout for output after the process has exited; children may keep the pipes open.
_DRAIN_SECONDS: Final = 0.5
_libc: Final = ctypes.CDLL(None)


class Launch(NamedTuple):
    """Command, environment and working directory of a process."""

    words: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    #: Sandbox of the process; None for no sandbox.
    sandbox: Sandbox | None = None
    #: Process whose sandbox to enter, for ``kubectl exec``, probes and hooks; None for a new sandbox.
    inside: int | None = None

    def exec_in(self, process: Process, words: Sequence[str]) -> Launch:
        """Return the launch of another command in the container of a running process."""
        sandbox = self.sandbox
        if sandbox is not None:
            descriptor, errors = tempfile.mkstemp(prefix="errors-", dir=Path(sandbox.errors).parent)
            os.close(descriptor)
            sandbox = msgspec.structs.replace(sandbox, errors=errors)
        return self._replace(words=words, inside=process.pid, sandbox=sandbox)

    @property
    def command_line(self) -> Sequence[str]:
        """Command line of the process, with the sandbox's."""
        if self.sandbox is None:
            return self.words
        return self.sandbox.run(self.words) if self.inside is None else self.sandbox.enter(self.inside, self.words)

    def take_start_error(self) -> str:
        """Return, once, why the sandbox could not start the command; empty if it was started, or without a sandbox."""
        if self.sandbox is None:
            return ""
        path = Path(self.sandbox.errors)
        try:
            text = path.read_text(errors="replace")
            path.unlink()
        except OSError:  # the pod's directory has been removed
            return ""
        return text


class Guard:
    """Guard process that kills registered process groups after the end of this process. Started with the first group."""

    def __init__(self) -> None:
        #: Directory removed by the guard, if any.
        self.folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Register a process group."""
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 — ourselves
                [sys.executable, "-I", "-S", str(guard_program.__file__), *([str(self.folder)] if self.folder else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        self._send(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Unregister a process group."""
        self._send(f"-{group}\n")

    def close(self) -> None:
        """Stop the guard, which kills the remaining groups. Idempotent."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()

    def _send(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # the guard was killed; PDEATHSIG still applies
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _take_terminal(terminal: int) -> None:
    """Create a session and set its controlling terminal; runs in the child."""
    _die_with_parent()
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


class Process:
    """A started process."""

    def __init__(self, process: asyncio.subprocess.Process, guard: Guard, *, terminal: int | None) -> None:
        self._process = process
        self._guard = guard
        #: Primary file descriptor of its terminal; None without a terminal.
        self.terminal = terminal

    @classmethod
    async def start(cls, launch: Launch, *, guard: Guard, stdin: bool = False, tty: bool = False) -> Process:
        """Start a process. Raises ``OSError``."""
        primary, secondary = os.openpty() if tty else (None, None)
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        path = launch.environment.get("PATH")
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.command_line,
                stdin=secondary if secondary is not None else pipe if stdin else null,
                stdout=secondary if secondary is not None else pipe,
                stderr=secondary if secondary is not None else pipe,
                cwd=launch.directory,
                env={**launch.environment, **({} if path else {"PATH": os.defpath})},
                start_new_session=secondary is None,
                preexec_fn=_die_with_parent
                if secondary is None
                else partial(_take_terminal, secondary),  # system calls only
            )
        except BaseException:
            if primary is not None:
                os.close(primary)
            raise
        finally:
            if secondary is not None:
                os.close(secondary)
        guard.add(process.pid)
        return cls(process, guard, terminal=primary)

    @property
    def pid(self) -> int:
        """Process ID, also that of the process group."""
        return self._process.pid

    async def wait(self, sink: Sink) -> int:
        """Pass output to ``sink``, with True for standard error, until the process exits; return its exit code."""
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

    async def kill(self) -> None:
        """Kill the process group, and wait for the end of the process."""
        self.signal(signal.SIGKILL)
        await self._process.wait()

    def _end_group(self) -> None:
        self.signal(signal.SIGKILL)
        self._guard.remove(self.pid)
        if self.terminal is not None:
            terminal, self.terminal = self.terminal, None
            os.close(terminal)

    def signal(self, number: int) -> None:
        """Send a signal to the process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def write(self, data: bytes) -> None:
        """Write to standard input; empty data closes it."""
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
        """Set the size of the terminal, in characters."""
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
                data = os.read(terminal, _CHUNK_BYTES)
                if not data:
                    return
                await sink(data, False)
        except OSError:  # all other descriptors of the terminal are closed
            return
        finally:
            loop.remove_reader(terminal)


async def _read(stream: asyncio.StreamReader, sink: Sink, *, error: bool) -> None:
    while data := await stream.read(_CHUNK_BYTES):
        await sink(data, error)


def _write_all(fd: int, data: bytes) -> None:
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(fd, data) :]
