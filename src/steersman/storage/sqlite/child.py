"""Life cycle of the writer process: start, end, reap. All functions block, so they run in threads."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from steersman.storage.sqlite.batches import LENGTH_BYTES

#: Path of the program: running it as a module would import its packages.
_PROGRAM = Path(__file__).with_name("batches.py")
#: Timeout of the last batch and the final checkpoint of a process that was requested to end.
_END_SECONDS = 60.0
_RECEIVE_BYTES = 4096
#: Signals handled only by the parent, which has writes to finish when it is stopped.
_PARENT_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Child:
    """One writer process with its socket and pipe. It ends when the socket is closed, so it does not outlive its owner.

    Results use a separate pipe: if the other end of a socket reads, the kernel wakes a process that polls the socket,
    as there is room to write, so with one socket the process would wake up needlessly after every result.
    """

    def __init__(self, process: subprocess.Popen[bytes], sock: socket.socket, answers: int) -> None:
        self.process = process
        #: Socket for writes, and pipe for results; both non-blocking. Format: ``batches``.
        self.socket = sock
        self.answers = answers

    @classmethod
    def start(cls, path: Path, lock_fd: int) -> Child:
        """Start a process that writes ``path``.

        It inherits the lock's descriptor and keeps the file locked while it runs.

        Raises ``OSError``. If it cannot open the file, it prints the reason to standard error and exits.
        """
        ours, theirs = socket.socketpair()
        answers, results = os.pipe()
        # The process inherits the signal mask of this thread.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _PARENT_SIGNALS)
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603 — fixed program
                    [sys.executable, "-I", "-S", str(_PROGRAM), str(path.absolute())],
                    stdin=theirs.fileno(),
                    stdout=results,
                    pass_fds=[lock_fd],
                    start_new_session=True,  # signals of a terminal must reach only the parent
                )
            except BaseException:
                ours.close()
                os.close(answers)
                raise
            finally:
                os.close(results)
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        ours.setblocking(False)
        os.set_blocking(answers, False)
        return cls(process, ours, answers)

    def end(self) -> None:
        """Let the process finish its frames and close the file; kill it after a minute."""
        with contextlib.suppress(OSError):
            self.socket.settimeout(_END_SECONDS)
            self.socket.sendall(bytes(LENGTH_BYTES))
            self.socket.shutdown(socket.SHUT_WR)
            while self.socket.recv(_RECEIVE_BYTES):
                pass
        self.reap()

    def reap(self) -> int:
        """Return the exit code; kill a running process. Afterwards none of its writes can reach the disk."""
        self.process.kill()  # before its socket is closed, which would end the process
        self.socket.close()
        if self.answers >= 0:
            os.close(self.answers)
            self.answers = -1
        return self.process.wait()
