"""Loop of the fork server: accepts connections, forks, reports exit codes. Single-threaded."""

from __future__ import annotations

import ctypes  # noqa: F401 — ``die_with_parent`` imports it in each child
import gc
import logging
import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.controlplane.process import die_with_parent
from steersman.testing.forkserver.messages import (
    Exited,
    Kill,
    MessageError,
    Refused,
    Start,
    Started,
    receive_request,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.testing.forkserver.messages import Reply

    #: Runs in the child with the arguments and the descriptors of ``Start``; returns the exit code.
    Target = Callable[[dict[str, Any], Sequence[int]], int]
    #: Runs with the same arguments in the server, before the fork. No thread may remain.
    Preparation = Callable[[dict[str, Any], Sequence[int]], None]

_log = logging.getLogger(__name__)

#: Grace period of the children when the server ends.
_GRACE_SECONDS: Final = 10.0
#: Timeout for joined threads to leave the process.
_THREADS_SECONDS: Final = 5.0
#: Polling interval for children and threads.
_PAUSE_SECONDS: Final = 0.01
#: Maximum number of connections, i.e. children.
CONNECTIONS_MAX: Final = 256


class _Child(NamedTuple):
    """Child process of one connection."""

    pid: int
    directory: str


class ForkServer:
    """Server that forks children for the connections of a listener, and for those received as descriptors on ``main``."""

    def __init__(
        self,
        targets: Mapping[str, Target],
        *,
        main: socket.socket,
        listener: socket.socket | None = None,
        before_fork: Mapping[str, Preparation] | None = None,
    ) -> None:
        """The server ends when the other end of ``main`` closes. ``before_fork``: work for each child of a target."""
        self._targets: Final = targets
        self._before_fork: Final = before_fork or {}
        self._main: Final = main
        self._listener: Final = listener
        #: By descriptor; None before ``Start``.
        self._connections: Final[dict[int, tuple[socket.socket, _Child | None]]] = {}
        self._by_pid: Final[dict[int, int]] = {}
        self._wakeup, self._wakeup_writer = socket.socketpair()
        self._wakeup_writer.setblocking(False)
        self._is_ending = False

    @property
    def has_requests(self) -> bool:
        """Report whether a connection is pending, for a caller that prepares the process in steps before ``run``."""
        return bool(select.select([self._main, *([self._listener] if self._listener else [])], [], [], 0)[0])

    def run(self) -> None:
        """Serve until the other end of ``main`` closes or SIGTERM; then end the children. Raises ``RuntimeError``."""
        _check_threads()
        gc.collect()
        gc.freeze()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, _ignore)
        signal.signal(signal.SIGTERM, self._end)
        signal.set_wakeup_fd(self._wakeup_writer.fileno(), warn_on_full_buffer=False)
        poll = select.poll()
        for sock in (self._main, self._wakeup, *([self._listener] if self._listener else [])):
            poll.register(sock, select.POLLIN)
        while not self._is_ending:
            for fd, _ in poll.poll():
                self._handle(fd, poll)
        self._end_children()

    def _handle(self, fd: int, poll: select.poll) -> None:
        if fd == self._wakeup.fileno():
            self._wakeup.recv(1024)
            self._reap(poll)
        elif fd == self._main.fileno():
            self._attach(poll)
        elif self._listener is not None and fd == self._listener.fileno():
            connection, _ = self._listener.accept()
            self._add(connection, poll)
        elif fd in self._connections:
            self._receive(fd, poll)

    def _attach(self, poll: select.poll) -> None:
        """Take connections from the packets of ``main``."""
        packet, descriptors, _, _ = socket.recv_fds(self._main, 1024, 8)
        if not packet:
            self._is_ending = True
        for descriptor in descriptors:
            self._add(socket.socket(fileno=descriptor), poll)

    def _add(self, connection: socket.socket, poll: select.poll) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            _reply(connection, Refused(f"{CONNECTIONS_MAX} children run already"))
            connection.close()
            return
        connection.setblocking(False)
        self._connections[connection.fileno()] = (connection, None)
        poll.register(connection, select.POLLIN)

    def _receive(self, fd: int, poll: select.poll) -> None:
        connection, child = self._connections[fd]
        try:
            received = receive_request(connection)
        except BlockingIOError:
            return
        except (OSError, MessageError) as error:
            _reply(connection, Refused(str(error)))
            received = None
        if received is None:
            poll.unregister(fd)
            if child is None:
                self._drop(fd)
            else:
                _kill(child, signal.SIGTERM)
            return
        request, descriptors = received
        try:
            if isinstance(request, Start) and child is None:
                self._start(connection, request, descriptors)
            elif isinstance(request, Kill) and child is not None:
                _kill(child, request.signal)
        finally:
            for descriptor in descriptors:
                with suppress(OSError):
                    os.close(descriptor)

    def _start(self, connection: socket.socket, request: Start, descriptors: list[int]) -> None:
        target = self._targets.get(request.target)
        if target is None:
            _reply(connection, Refused(f"unknown target {request.target!r}"))
            return
        try:
            if request.target in self._before_fork:
                self._before_fork[request.target](request.arguments, descriptors)
                _check_threads()
            pid = os.fork()
        except RuntimeError as error:
            _reply(connection, Refused(str(error)))
            return
        except OSError as error:
            _reply(connection, Refused(f"cannot fork: {error.strerror}"))
            return
        if pid == 0:
            self._become(target, request, descriptors)
        self._connections[connection.fileno()] = (connection, _Child(pid, request.directory))
        self._by_pid[pid] = connection.fileno()
        _reply(connection, Started(pid))

    def _become(self, target: Target, request: Start, descriptors: Sequence[int]) -> None:
        """Run the target in the child; does not return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            die_with_parent()
            for sock in (
                *(sock for sock, _ in self._connections.values()),
                *(self._main, self._wakeup, self._wakeup_writer),
                *([self._listener] if self._listener else []),
            ):
                sock.close()
            code = target(request.arguments, descriptors)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:  # noqa: BLE001 — the child must not return into the server's loop
            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _reap(self, poll: select.poll) -> None:
        for pid in list(self._by_pid):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            fd = self._by_pid.pop(pid)
            connection, child = self._connections[fd]
            if child is not None:
                _remove(child.directory)
            _reply(connection, Exited(os.waitstatus_to_exitcode(status)))
            with suppress(KeyError):
                poll.unregister(fd)
            self._drop(fd)

    def _drop(self, fd: int) -> None:
        connection, _ = self._connections.pop(fd)
        connection.close()

    def _end(self, _number: int, _frame: object) -> None:
        self._is_ending = True

    def _end_children(self) -> None:
        """Stop all children, with SIGKILL after the grace period, and remove their directories."""
        children = [child for _, child in self._connections.values() if child is not None]
        deadline = time.monotonic() + _GRACE_SECONDS
        for child in children:
            _kill(child, signal.SIGTERM)
        while children:
            is_late = time.monotonic() > deadline
            for child in list(children):
                if is_late:
                    _kill(child, signal.SIGKILL)
                if os.waitpid(child.pid, 0 if is_late else os.WNOHANG)[0]:
                    children.remove(child)
                    _remove(child.directory)
            if children:
                time.sleep(_PAUSE_SECONDS)


def _check_threads() -> None:
    """Wait until joined threads have left the process. Raises ``RuntimeError`` for other threads."""
    deadline = time.monotonic() + _THREADS_SECONDS
    while (count := sum(1 for _ in Path("/proc/self/task").iterdir())) != 1:
        if threading.active_count() != 1 or time.monotonic() > deadline:
            raise RuntimeError(f"a process with {count} threads cannot fork safely")
        time.sleep(_PAUSE_SECONDS)


def _ignore(_number: int, _frame: object) -> None:
    """Let the signal write to the wakeup descriptor."""


def _kill(child: _Child, number: int) -> None:
    with suppress(ProcessLookupError):  # it is reaped later, so the id is not reused
        os.kill(child.pid, number)


def _remove(directory: str) -> None:
    if directory and Path(directory).is_absolute():
        shutil.rmtree(directory, ignore_errors=True)


def _reply(connection: socket.socket, reply: Reply) -> None:
    with suppress(OSError):  # the client has closed the connection
        send(connection, reply)
