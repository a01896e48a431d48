"""Control plane in a child process, as a context manager. Upstream: controller-runtime's ``envtest``."""

from __future__ import annotations

import os
import re
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

#: Timeout of a start; longer than that of ``steersman up``, so that its error is in the log.
_START_SECONDS: Final = 150.0
_STOP_SECONDS: Final = 15.0
_READY: Final = re.compile(rb" is ready at (\S+) .*\nexport KUBECONFIG=(.*)\n")


class ControlPlaneError(RuntimeError):
    """The control plane did not start; the message contains its log."""


class ControlPlane:
    """Control plane in a child process.

    ``start`` (or entering) returns when it is ready, ``stop`` (or leaving) removes its files.

    The child ends with this process in any case, because it reads from its pipe.
    """

    def __init__(
        self,
        *,
        arguments: Sequence[str] = (),
        ephemeral: bool = True,
        data_dir: Path | None = None,
        whole: bool = False,
        nodes: int = 1,
    ) -> None:
        """``arguments`` are further flags of ``steersman apiserver``.

        A ``whole`` control plane has controllers, a scheduler and simulated ``nodes``, one of which is Ready when ``start``
        returns; otherwise only an API server runs. An ``ephemeral`` control plane keeps its objects in
        memory; otherwise they are in ``data_dir``, which remains afterwards, or in a temporary folder.
        """
        self._command = ["up", f"--nodes={nodes}"] if whole else ["apiserver"]
        self._arguments = list(arguments)
        self._ephemeral = ephemeral
        self._data_dir = data_dir
        self._temporary: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: int | None = None
        self._log: IO[bytes] | None = None
        #: Bearer token of a user in ``system:masters``.
        self.token: str = secrets.token_hex(24)  # hexadecimal: never starts with a dash
        self.url: str
        #: Kubeconfig of the admin user, with a client certificate.
        self.kubeconfig: Path

    @property
    def ca(self) -> Path:
        """CA certificate file of the server."""
        return self.kubeconfig.parent / "pki" / "ca.crt"

    @property
    def log(self) -> str:
        """Log of the process so far; empty when stopped."""
        if self._log is None:
            return ""
        return os.pread(self._log.fileno(), os.fstat(self._log.fileno()).st_size, 0).decode(errors="replace")

    @property
    def pid(self) -> int:
        """Process ID."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Start the process and wait until it is ready. Raises ``ControlPlaneError``."""
        if self._log is None:
            # Unnamed, so that it is deleted when the last process closes it.
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 — open until ``stop``
        parent_pipe, self._pipe = os.pipe()
        tokens = self._token_pipe()
        command = [
            *(sys.executable, "-m", "steersman", *self._command, "--port=0"),
            *self._storage_flags(),
            f"--token-auth-file=/dev/fd/{tokens}",
            f"--parent-pipe={parent_pipe}",
            *self._arguments,
        ]
        try:
            self._process = subprocess.Popen(  # noqa: S603 — this package
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._log,
                pass_fds=[parent_pipe, tokens],
            )
        finally:
            os.close(parent_pipe)
            os.close(tokens)
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def _token_pipe(self) -> int:
        """Return a pipe with the token file, which is readable only by the child and not on disk."""
        reader, writer = os.pipe()
        os.write(writer, f'{self.token},admin,admin-uid,"system:masters"\n'.encode())
        os.close(writer)
        return reader

    def _storage_flags(self) -> list[str]:
        if self._ephemeral and self._data_dir is None:
            return ["--ephemeral"]
        if self._data_dir is None and self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="steersman-test-"))
        return [f"--data-dir={self._data_dir or self._temporary}", *(["--ephemeral"] if self._ephemeral else [])]

    def _wait_until_ready(self) -> None:
        """Wait until the process prints URL and kubeconfig, which it does when it is ready."""
        assert self._process is not None
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        deadline = time.monotonic() + _START_SECONDS
        output_so_far = b""
        while (ready := _READY.search(output_so_far)) is None:
            remaining_seconds = deadline - time.monotonic()
            if remaining_seconds <= 0 or not select.select([output], [], [], remaining_seconds)[0]:
                raise ControlPlaneError(f"the control plane was not ready within {_START_SECONDS:.0f} s:\n{self.log}")
            chunk = os.read(output, 4096)
            if not chunk:
                raise ControlPlaneError(f"the control plane ended while it started:\n{self.log}")
            output_so_far += chunk
        self.url, self.kubeconfig = ready[1].decode(), Path(os.fsdecode(ready[2]))

    def stop(self) -> None:
        """Stop the process and remove its files. Idempotent."""
        if self._process is not None:
            self._process.terminate()
            self._end(_STOP_SECONDS)
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def kill(self) -> None:
        """Kill the process without removing its files; ``start`` may follow."""
        assert self._process is not None
        self._process.kill()
        self._end(None)

    def _end(self, patience_seconds: float | None) -> None:
        process, self._process = self._process, None
        assert process is not None
        try:
            process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
