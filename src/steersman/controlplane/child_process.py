"""``steersman`` command in a child process, which is started before its flags are known, so that it can import modules
meanwhile.

Parent and child share a socket pair. The parent sends the flags, one line of JSON, and nothing else; end of file means
that the parent has ended. The child sends lines: ``waiting WHAT`` while it starts, ``ready TEXT`` once it
serves. This module imports little because ``steersman up`` loads it before everything else.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Flags that make a command read the rest of its flags from the socket.
ARGUMENTS_FROM_PARENT: Final = "--arguments-from-parent"
_RECEIVE_BYTES: Final = 4096


class ChildProcess:
    """Child process, seen from the parent. The child exits when the socket is closed, so it does not outlive the parent."""

    def __init__(self, process: subprocess.Popen[bytes], sock: socket.socket) -> None:
        self.process: Final = process
        #: Non-blocking once ``send_arguments`` has returned.
        self.socket: Final = sock

    @classmethod
    def spawn(cls, command: str) -> Self:
        """Start the process in a new session, so that Ctrl-C reaches only the parent. Raises ``OSError``."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                fd = theirs.fileno()
                process = subprocess.Popen(  # noqa: S603 — our own program
                    [sys.executable, "-m", "steersman", command, f"--parent-pipe={fd}", ARGUMENTS_FROM_PARENT],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[fd],
                    start_new_session=True,
                )
        except BaseException:
            ours.close()
            raise
        return cls(process, ours)

    def send_arguments(self, arguments: Sequence[str]) -> None:
        """Start the command. A child that has ended is not an error."""
        with contextlib.suppress(BrokenPipeError):
            self.socket.sendall(json.dumps(list(arguments)).encode() + b"\n")
        self.socket.setblocking(False)

    def kill(self) -> None:
        """Kill the process, reap it and close the socket. Idempotent."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        self.socket.close()


def receive_arguments(fd: int) -> list[str] | None:
    """Block until the parent has sent the flags; return None if it ended instead."""
    received = b""
    while not received.endswith(b"\n"):
        try:
            data = os.read(fd, _RECEIVE_BYTES)
        except ConnectionResetError:
            return None
        if not data:
            return None
        received += data
    arguments: list[str] = json.loads(received)
    return arguments
