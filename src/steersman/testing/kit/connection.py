"""Process of one cluster: start, calls and stop."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.testing.errors import ClusterError
from steersman.testing.forkserver.client import ForkedProcess, ForkServerError
from steersman.testing.host.channel import SOCKET_NAME, Call, ChannelError, call
from steersman.testing.kit.errors import error_of
from steersman.testing.kit.outputs import Output
from steersman.testing.kit.servers import fork_server

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.testing.host.options import ClusterOptions

#: Timeout of a start; longer than the start of a fork server and a cluster on a busy machine.
START_SECONDS: Final = 150.0
#: Default timeout of a call, in real time.
CALL_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
#: Maximum number of idle connections.
_IDLE_MAX: Final = 4
_LOG_BYTES: Final = 4096
#: First call; answered once the cluster has started.
_FIRST_CALL: Final = "describe"


class ClusterProcess:
    """Client of a cluster in a child process. Thread-safe."""

    def __init__(self, options: ClusterOptions, snapshot: bytes | None) -> None:
        """Start the cluster. Raises ``ClusterError``."""
        self.directory: Final = Path(tempfile.mkdtemp(prefix="steersman-cluster-"))
        self._log: Final = Output()
        self._idle: Final[list[socket.socket]] = []
        self._lock: Final = threading.Lock()
        self._process: ForkedProcess | None = None
        #: True once a call has reported that the process ended by itself.
        self.has_reported_end = False
        self._path: Final = f"{self.directory}/{SOCKET_NAME}"
        try:
            self._start(options, snapshot)
            self.description: Final[dict[str, Any]] = self.call(_FIRST_CALL, timeout_seconds=START_SECONDS)
        except BaseException:
            self.stop()
            raise

    def _start(self, options: ClusterOptions, snapshot: bytes | None) -> None:
        arguments = {"options": msgspec.to_builtins(options), "directory": str(self.directory)}
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._path)
            listener.listen(16)
            descriptors = [self._log.descriptor, listener.fileno()]
            try:
                if snapshot is not None:
                    descriptors.append(os.memfd_create("snapshot"))
                    with open(descriptors[-1], "wb", closefd=False) as file:
                        file.write(snapshot)
                self._process = fork_server().start(
                    "cluster", arguments, descriptors=descriptors, directory=str(self.directory)
                )
            except (ForkServerError, OSError) as error:
                raise ClusterError(f"the cluster cannot be started: {error}") from error
            finally:
                for descriptor in descriptors[2:]:
                    os.close(descriptor)

    @property
    def log(self) -> str:
        """Log so far; also available after the end."""
        return self._log.text

    @property
    def is_running(self) -> bool:
        """Report whether the process was started and not stopped; a crash is not detected."""
        return self._process is not None

    def call(
        self, method: str, arguments: dict[str, Any] | None = None, *, data: bytes = b"",
        timeout_seconds: float = CALL_SECONDS,
    ) -> Any:  # fmt: skip
        """Return the result of a method. Raises the method's error (see ``errors``), ``ClusterError``."""
        if self._process is None:
            raise ClusterError(f"{method}: the cluster is stopped")
        try:
            connection = self._take_connection()
        except OSError as error:
            raise self._ended(method) from error
        is_reusable = False
        try:
            connection.settimeout(timeout_seconds)
            answer, returned = call(connection, Call(method, arguments or {}), data)
            is_reusable = True
        except TimeoutError as error:
            raise ClusterError(f"{method}: no answer within {timeout_seconds:g} s\n{self._log_end()}") from error
        except (ChannelError, OSError) as error:
            raise self._ended(method) from error
        finally:
            self._release_connection(connection, is_reusable=is_reusable)
        if answer.error:
            raise error_of(answer.error, answer.message)
        return returned or answer.result

    def _take_connection(self) -> socket.socket:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _release_connection(self, connection: socket.socket, *, is_reusable: bool) -> None:
        with self._lock:
            if is_reusable and len(self._idle) < _IDLE_MAX and self._process is not None:
                self._idle.append(connection)
                return
        connection.close()

    def _ended(self, method: str) -> ClusterError:
        self.has_reported_end = True
        code = None
        if self._process is not None:
            with suppress(ForkServerError):
                code = self._process.wait(_STOP_SECONDS)
        subject = (
            "the cluster did not start: its process"
            if method == _FIRST_CALL
            else f"{method}: the process of the cluster"
        )
        return ClusterError(f"{subject} has ended with code {code}\n{self._log_end()}")

    def _log_end(self) -> str:
        return f"its log ends with:\n{self.log[-_LOG_BYTES:]}" if self.log else "its log is empty"

    def stop(self) -> None:
        """Stop the process and remove its files. Idempotent."""
        with self._lock:
            process, self._process = self._process, None
            idle: Iterable[socket.socket] = self._idle[:]
            self._idle.clear()
        for connection in idle:
            connection.close()
        if process is not None:
            process.kill()
            process.end(_STOP_SECONDS)
        shutil.rmtree(self.directory, ignore_errors=True)
