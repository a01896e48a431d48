"""The writer process as a process: started, ended, reaped. Everything here blocks, so it is done in threads."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from steersman.storage.sqlite.batches import LENGTH_BYTES

#: The program, by its path: by its name the interpreter would import the packages that it is in.
_PROGRAM = Path(__file__).with_name("batches.py")
#: How long a process that was asked to end may take for its last batch and for copying the log into the file.
_END_SECONDS = 60.0
_RECEIVE_BYTES = 4096
#: Only the process that started it says when it is to end: that one has writes to finish when it is told to stop.
_NOT_FOR_IT = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Child:
    """One process and the ways to it. It ends when the socket is closed, so it outlives nobody who holds one of these.

    Answers come another way than writes go: the kernel wakes a process that waits at one end of a socket when the other end reads,
    since there is room to write now, and the process would look up from its wait for nothing after every answer.
    """

    def __init__(self, process: subprocess.Popen[bytes], sock: socket.socket, answers: int) -> None:
        self.process = process
        #: Where writes go, and the pipe that says what became of them. Neither blocks. The format: ``batches``.
        self.socket = sock
        self.answers = answers

    @classmethod
    def start(cls, path: Path, lock_fd: int) -> Child:
        """Have a process write ``path``; with the lock's descriptor it keeps the file locked as long as it lives.

        Raises ``OSError``. What keeps it from opening the file, it says on standard error, and ends.
        """
        ours, theirs = socket.socketpair()
        answers, said = os.pipe()
        # What is blocked in this thread is blocked in the process from its start on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _NOT_FOR_IT)
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603 — our own program
                    [sys.executable, "-I", "-S", str(_PROGRAM), str(path.absolute())],
                    stdin=theirs.fileno(),
                    stdout=said,
                    pass_fds=[lock_fd],
                    start_new_session=True,  # a terminal's signals are for the one that started it
                )
            except BaseException:
                ours.close()
                os.close(answers)
                raise
            finally:
                os.close(said)
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        ours.setblocking(False)
        os.set_blocking(answers, False)
        return cls(process, ours, answers)

    def end(self) -> None:
        """Let it finish what it was sent, all of it whole, and close the file; kill it when that takes longer than a minute."""
        with contextlib.suppress(OSError):
            self.socket.settimeout(_END_SECONDS)
            self.socket.sendall(bytes(LENGTH_BYTES))
            self.socket.shutdown(socket.SHUT_WR)
            while self.socket.recv(_RECEIVE_BYTES):
                pass
        self.reap()

    def reap(self) -> int:
        """Its exit code; it is killed if it runs yet. After this nothing of it can reach the disk any more."""
        self.socket.close()
        if self.answers >= 0:
            os.close(self.answers)
            self.answers = -1
        self.process.kill()
        return self.process.wait()
