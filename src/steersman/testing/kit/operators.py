"""Operators under test: programs that run with the kubeconfig of a cluster and end with it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Self

from steersman.testing.errors import ClusterError
from steersman.testing.forkserver.client import ForkServerError
from steersman.testing.kit.outputs import Output
from steersman.testing.kit.servers import fork_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from steersman.testing.forkserver.client import ForkedProcess

#: Time between SIGTERM and SIGKILL.
STOP_SECONDS: Final = 10.0
_KOPF: Final = ("-m", "kopf", "run", "--standalone")


class OperatorError(ClusterError):
    """The operator ended by itself; the message has its output."""


class Operator:
    """Running program; its process group ends at ``stop``, or with the cluster or the test's process."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], directory: Path | None = None
    ) -> None:
        """Start the program. Raises ``ClusterError`` if it cannot be started."""
        if isinstance(command, str):
            raise ClusterError(f"{command!r} is no command: pass a list of the program and its arguments")
        self.command: Final = [str(word) for word in command]
        self._output: Final = Output()
        arguments = {
            "command": self.command,
            "environment": dict(environment),
            "directory": str(directory or Path.cwd()),
        }
        try:
            self._process: Final[ForkedProcess] = fork_server().start(
                "command", arguments, descriptors=[self._output.descriptor]
            )
        except (ForkServerError, OSError) as error:
            raise ClusterError(f"{self.name}: cannot be started: {error}") from error
        self._is_stopped = False

    @property
    def name(self) -> str:
        """Name for reports."""
        return " ".join(self.command)

    @property
    def pid(self) -> int:
        """Process ID, also that of its process group."""
        return self._process.pid

    @property
    def output(self) -> str:
        """Standard output and standard error so far."""
        return self._output.text

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs; the negative signal number if a signal ended it."""
        if self._process.code is None:
            self.wait(0)
        return self._process.code

    def wait(self, timeout_seconds: float) -> int | None:
        """Wait for the program to end by itself; return the exit code, None after the timeout."""
        with suppress(ForkServerError):
            self._process.wait(timeout_seconds)
        return self._process.code

    def check_running(self) -> None:
        """Raise ``OperatorError`` if the program ended by itself with an exit code other than 0."""
        code = None if self._is_stopped else self.exit_code
        if code:
            raise OperatorError(f"{self.name}: ended with exit code {code} before it was stopped\n{self.output}")

    def stop(self) -> int:
        """Send SIGTERM to the process group, and SIGKILL after the grace period; return the exit code. Idempotent."""
        if self.exit_code is None:
            self._is_stopped = True
            self._kill(signal.SIGTERM)
            try:
                if self._process.wait(STOP_SECONDS) is None:
                    self._kill(signal.SIGKILL)
            except ForkServerError:
                self._kill(signal.SIGKILL)
        return self._process.end(STOP_SECONDS)

    def _kill(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # the process group has ended meanwhile
            os.killpg(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def check_file(operator: ModuleType | Path | str, directory: Path | None) -> None:
    """Raise ``ClusterError`` if ``operator`` is the path of a file that does not exist, seen from ``directory``."""
    if _is_path(operator) and not (directory or Path.cwd()).joinpath(str(operator)).exists():
        raise ClusterError(f"there is no file {operator} to run")


def kopf_command(operator: ModuleType | Path | str, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs an operator of kopf: a module, the path of a file, or the name of a module."""
    if isinstance(operator, ModuleType):
        file = getattr(operator, "__file__", None)
        if file is None:
            raise ClusterError(f"{operator.__name__} has no file that kopf could run")
        operator = Path(file)
    scope = [] if any(word in ("-A", "--all-namespaces", "-n", "--namespace") for word in arguments) else ["-A"]
    target = [str(operator)] if _is_path(operator) else ["-m", str(operator)]
    return [sys.executable, *_KOPF, *scope, *arguments, *target]


def _is_path(operator: ModuleType | Path | str) -> bool:
    return isinstance(operator, Path) or (isinstance(operator, str) and operator.endswith(".py"))
