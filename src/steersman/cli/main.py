"""``steersman``: picks the command."""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Final

from steersman.cli import signals
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

_USAGE: Final = """\
usage: steersman COMMAND [FLAGS]

A Kubernetes control plane in Python.

commands:
  up          start a whole control plane and say how to reach it
  apiserver   start an API server alone
  controller-manager
              run controllers against any cluster
  scheduler   give pods their nodes
  nodes       simulate nodes and the pods on them
  status      show which control planes run here, and what is in them
  down        stop one
  elections   show who leads, who would like to, and what comes next

Add --help to a command for its flags; --version tells the version.
"""

#: Commands that run until a signal.
_LONG_RUNNING: Final = ("up", "apiserver", "controller-manager", "scheduler", "nodes", "components")
_HELP: Final = frozenset(("-h", "--help", "--help-all"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code. Without ``argv``, the process is this command's: it handles signals."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    begun_seconds = time.perf_counter()
    if argv is None and arguments[:1] and arguments[0] in _LONG_RUNNING:
        signals.exit_on_signals()
        signals.exit_with_parent(arguments)
        gc.disable()  # a start leaves no garbage worth looking for; the command enables the collector again
    match arguments:
        case ["--version" | "version"]:
            sys.stdout.write(f"steersman {__version__} (Kubernetes {KUBERNETES_VERSION})\n")
            return 0
        case ["up" | "apiserver" as command, *rest]:
            return _serve(command, rest, begun_seconds=begun_seconds)
        case ["controller-manager", *rest]:
            from steersman.cli import controller_manager  # noqa: PLC0415 — only when it is called

            return controller_manager.run(rest)
        case ["scheduler" | "nodes" | "components" as command, *rest]:
            from steersman.cli import components  # noqa: PLC0415 — only when it is called

            return components.run(command, rest)
        case ["status", *rest]:
            from steersman.cli import status  # noqa: PLC0415 — only when it is called

            return status.run(rest)
        case ["down", *rest]:
            from steersman.cli import down  # noqa: PLC0415 — only when it is called

            return down.run(rest)
        case ["elections", *rest]:
            from steersman.cli import elections  # noqa: PLC0415 — only when it is called

            return elections.run(rest)
        case [] | ["--help" | "-h" | "help"]:
            sys.stdout.write(_USAGE)
            return 0 if arguments else 2
        case _:
            sys.stderr.write(f"steersman: unknown command {arguments[0]!r}\n\n{_USAGE}")
            return 2


def _serve(command: str, arguments: Sequence[str], *, begun_seconds: float) -> int:
    """Run an API server. The process of the components imports its modules while this one does."""
    process = None
    if command == "up" and _HELP.isdisjoint(arguments):
        from steersman.controlplane.child_process import ChildProcess  # noqa: PLC0415 — only when it is called

        with signals.deferred():
            process = ChildProcess.spawn("components")
            signals.kill_on_exit(process.process.pid)
    try:
        from steersman.cli import apiserver  # noqa: PLC0415 — only when it is called

        return apiserver.run(command, arguments, begun_seconds=begun_seconds, process=process)
    finally:
        if process is not None:
            process.kill()
