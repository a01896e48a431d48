"""Client of a fork server: starts the server as a child process, and children of it."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from steersman.testing.forkserver.messages import Exited, Kill, Refused, Start, connection_pair, receive_reply, send

if TYPE_CHECKING:
    from collections.abc import Sequence


class ForkServerError(RuntimeError):
    """The fork server has ended, or the child was not started; the message has the reason."""


class ForkedProcess:
    """Child of a fork server. Ends when ``close`` is called or this process ends."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self._connection = connection
        self.pid = pid
        self._lock = threading.Lock()
        #: Exit code; None while it runs; the negative signal number if a signal ended it.
        self.code: int | None = None

    def kill(self, number: int = signal.SIGTERM) -> None:
        """Send a signal; ignored after the end of the process."""
        with suppress(OSError):
            send(self._connection, Kill(number))

    def wait(self, timeout_seconds: float) -> int | None:
        """Return the exit code, once the process has ended and its directory is removed; None after the timeout.

        Raises ``ForkServerError`` if the server has ended.
        """
        with self._lock:
            deadline = time.monotonic() + timeout_seconds
            while self.code is None:
                remaining_seconds = deadline - time.monotonic()
                if self._connection.fileno() < 0:
                    raise ForkServerError("the connection is closed")
                if not select.select([self._connection], [], [], max(0.0, remaining_seconds))[0]:
                    return None
                try:
                    reply = receive_reply(self._connection)
                except OSError:
                    reply = None
                if reply is None:
                    self._connection.close()
                    raise ForkServerError("the fork server has ended")
                if isinstance(reply, Exited):
                    self.code = reply.code
                    self._connection.close()
            return self.code

    def end(self, timeout_seconds: float) -> int:
        """Wait for the requested end; kill the process after the timeout. Idempotent."""
        try:
            code = self.wait(timeout_seconds)
            if code is None:
                self.kill(signal.SIGKILL)
                code = self.wait(timeout_seconds)
        except ForkServerError:
            code = -signal.SIGKILL  # the server ends its children
        self.code = -signal.SIGKILL if code is None else code
        self.release()
        return self.code

    def release(self) -> None:
        """Close the connection, which makes the server end the process. Idempotent."""
        self._connection.close()


class ForkServerProcess:
    """A fork server that runs a Python program, whose last argument is the descriptor of its main connection."""

    def __init__(self, process: subprocess.Popen[bytes], main: socket.socket) -> None:
        self._process = process
        self._main = main
        self._lock = threading.Lock()

    @classmethod
    def spawn(cls, *arguments: str) -> Self:
        """Start ``python ARGUMENTS``, which imports its modules asynchronously. Raises ``OSError``."""
        ours, theirs = connection_pair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 — this package
                [sys.executable, *arguments, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the tests, which then close the connection
            )
        return cls(process, ours)

    @property
    def pid(self) -> int:
        """Process ID of the server."""
        return self._process.pid

    def start(
        self, target: str, arguments: dict[str, Any], *, descriptors: Sequence[int] = (), directory: str = ""
    ) -> ForkedProcess:
        """Start a child. Raises ``ForkServerError``."""
        ours, theirs = connection_pair()
        try:
            with theirs, self._lock:
                socket.send_fds(self._main, [b"+"], [theirs.fileno()])
            send(ours, Start(target, arguments, directory), list(descriptors))
            reply = receive_reply(ours)
        except OSError as error:
            ours.close()
            raise ForkServerError(f"the fork server has ended ({self._process.poll()}): {error.strerror}") from error
        if reply is None or isinstance(reply, Refused | Exited):
            ours.close()
            reason = (
                reply.reason if isinstance(reply, Refused) else f"the fork server has ended ({self._process.poll()})"
            )
            raise ForkServerError(reason)
        return ForkedProcess(ours, reply.pid)

    def close(self, timeout_seconds: float = 15.0) -> None:
        """Stop the server and all children. Idempotent."""
        self._main.close()
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
