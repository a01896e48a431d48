"""A control plane in a process of its own, for as long as a ``with`` block lasts."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_START_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 15.0


class ControlPlaneError(RuntimeError):
    """The control plane did not start; the text holds what it said."""


class ControlPlane:
    """Starts when entered (or by ``start``), ready when that returns; everything it wrote goes when it is left.

    The process ends with this one, however this one ends: it holds the other end of a pipe.
    """

    def __init__(self, *, arguments: Sequence[str] = (), ephemeral: bool = True, data_dir: Path | None = None) -> None:
        """``arguments`` are further flags of ``steersman apiserver``. A given ``data_dir`` is kept afterwards."""
        self._arguments = list(arguments)
        self._ephemeral = ephemeral
        self._kept = data_dir
        self._process: subprocess.Popen[str] | None = None
        self._pipe: int | None = None
        #: A bearer token whose user may do everything.
        self.token: str = secrets.token_urlsafe(24)
        self.directory: Path
        self.url: str

    @property
    def ca(self) -> Path:
        """File with the CA that signed the server's certificate."""
        return self.directory / "data" / "pki" / "ca.crt"

    @property
    def kubeconfig(self) -> Path:
        """File with a kubeconfig of the admin, who has a client certificate."""
        return self.directory / "data" / "admin.kubeconfig"

    @property
    def log(self) -> str:
        """What the process has logged."""
        return (self.directory / "log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Returns when the control plane is ready. Raises ``ControlPlaneError``."""
        self.directory = self._kept or Path(tempfile.mkdtemp(prefix="steersman-test-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        tokens = self.directory / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{self.token},admin,admin-uid,"system:masters"\n')
        reader, self._pipe = os.pipe()
        command = [
            *(sys.executable, "-m", "steersman", "apiserver", "--port=0"),
            f"--data-dir={self.directory / 'data'}",
            f"--token-auth-file={tokens}",
            f"--parent-pipe={reader}",
            *(["--ephemeral"] if self._ephemeral else []),
            *self._arguments,
        ]
        try:
            with (self.directory / "log").open("a") as log:
                self._process = subprocess.Popen(  # noqa: S603 — ourselves
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, pass_fds=[reader]
                )
        finally:
            os.close(reader)
        try:
            self.url = self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def _wait_until_ready(self) -> str:
        """The URL, which the process tells when it is ready."""
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + _START_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._process.stdout], [], [], left)[0]:
                break
            line = self._process.stdout.readline()
            if not line:
                raise ControlPlaneError(f"the control plane ended while it started:\n{self.log}")
            _, found, rest = line.partition(" is ready at ")
            if found:
                return rest.split()[0]
        raise ControlPlaneError(f"the control plane was not ready within {_START_SECONDS:.0f} s:\n{self.log}")

    def stop(self) -> None:
        """Stop the process and remove its files. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if self._kept is None:
            shutil.rmtree(self.directory, ignore_errors=True)

    def kill(self) -> None:
        """End the process as a crash would, and keep its files; ``start`` may follow."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._kept, kept = self.directory, self._kept
        self.stop()
        self._kept = kept

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
