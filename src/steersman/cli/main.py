"""``steersman``: selection of the command."""

from __future__ import annotations

import gc
import importlib
import sys
import time
from typing import TYPE_CHECKING, Final

from steersman.cli import signals
from steersman.extras import MissingPackagesError, require
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

_USAGE: Final = """\
usage: steersman COMMAND [FLAGS]

A Kubernetes control plane in Python.

control planes on this machine:
  up          start a control plane: API server, controllers, scheduler and nodes
  status      show the running control planes of this user
  down        stop a control plane
  kubectl     run kubectl against a running control plane
  env         print the shell command that sets KUBECONFIG

components:
  apiserver   start an API server alone
  controller-manager
              run the controllers against any cluster
  scheduler   run a scheduler against any cluster
  nodes       simulate nodes and their pods in any cluster
  elections   show the leader elections of any cluster

storage:
  backup      copy the store of a running API server
  check       verify the store of a stopped API server
  repair      list what a damaged store has lost, and continue without it
  check-storage
              report stored objects that Kubernetes 1.36 would not read
  export-to-etcd
              copy all objects of a stopped API server to etcd
  import-from-etcd
              copy all objects of an etcd to a data directory

tests:
  envtest     print a folder for KUBEBUILDER_ASSETS, for Go's envtest
  faults      let requests to a cluster of the test kit fail

Run 'steersman COMMAND --help' for the flags of a command, 'steersman --version' for the version.
"""

_VERSION_USAGE: Final = (
    "usage: steersman version\n\nPrint the versions of Steersman and of the Kubernetes API that it implements.\n"
)

#: Commands that run until a signal.
_LONG_RUNNING: Final = ("up", "apiserver", "controller-manager", "scheduler", "nodes", "components")
_HELP: Final = frozenset(("-h", "--help", "--help-all"))
#: Extras by command; a command that is not listed needs none.
_EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "up": ("server", "toolkit"),
    "apiserver": ("server",),
    "controller-manager": ("server", "toolkit"),
    "scheduler": ("server", "toolkit"),
    "nodes": ("server", "toolkit"),
    "components": ("server", "toolkit"),
    "status": ("toolkit",),
    "elections": ("toolkit",),
    "envtest": ("server", "toolkit"),
    "faults": ("server", "toolkit"),
}
#: Commands that use ``lightkube-models`` without the client of ``lightkube``.
_TYPED: Final = frozenset(_EXTRAS) - {"up", "apiserver", "elections", "envtest", "faults"}


#: Commands implemented by the function ``run`` of the module of their name, imported on demand.
_MODULES: Final = ("status", "down", "elections", "check", "check-storage", "backup", "repair", "envtest", "faults")
_COMMANDS: Final = (
    "up", "apiserver", "controller-manager", "scheduler", "nodes", "status", "down", "kubectl", "env", "elections",
    "check", "check-storage", "export-to-etcd", "import-from-etcd", "backup", "repair", "envtest", "faults", "version", "help",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code. Without ``argv`` it also handles the signals of the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    begun_seconds = time.perf_counter()
    if argv is None and arguments[:1] and arguments[0] in _LONG_RUNNING:
        signals.exit_on_signals()
        signals.exit_with_parent(arguments)
        gc.disable()  # a start leaves little garbage; the command enables the collector again
    if arguments and (extras := _EXTRAS.get(arguments[0])):
        try:
            require(f"steersman {arguments[0]}", *extras)
        except MissingPackagesError as error:
            sys.stderr.write(f"{error}\n")
            return 1
    if arguments and arguments[0] in _TYPED:
        from steersman.cli.model_imports import skip_lightkube_client  # noqa: PLC0415 — only where models are used

        skip_lightkube_client()
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
        case ["kubectl" | "env" as command, *rest]:
            from steersman.cli import kubectl  # noqa: PLC0415 — only when it is called

            return kubectl.run_kubectl(rest) if command == "kubectl" else kubectl.run_env(rest)
        case ["help", command, *_] if command not in _HELP:
            return main([command, "--help"])
        case [command, *rest] if command in _MODULES:
            return int(importlib.import_module(f"steersman.cli.{command.replace('-', '_')}").run(rest))
        case ["export-to-etcd" | "import-from-etcd" as command, *rest]:
            from steersman.cli import transfer  # noqa: PLC0415 — only when it is called

            return transfer.run(command, rest)
        case ["version", word] if word in _HELP:
            sys.stdout.write(_VERSION_USAGE)
            return 0
        case ["version", word, *_]:
            sys.stderr.write(
                f"steersman version: unexpected argument \"{word}\"\nrun 'steersman version --help' for usage\n"
            )
            return 2
        case [] | ["--help" | "-h" | "help"] | ["help", *_]:
            sys.stdout.write(_USAGE)
            return 0 if arguments else 2
        case _:
            sys.stderr.write(f"steersman: {_unknown(arguments[0])}\nrun 'steersman --help' for usage\n")
            return 2


def _serve(command: str, arguments: Sequence[str], *, begun_seconds: float) -> int:
    """Run an API server. The process of the components imports its modules concurrently."""
    process = None
    is_inquiry = any(word in _HELP or word.startswith("--version") for word in arguments)
    if command == "up" and not is_inquiry:
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


def _unknown(word: str) -> str:
    import difflib  # noqa: PLC0415 — only a wrong command needs it

    if word.startswith("-"):
        return f"unknown flag: {word.partition('=')[0]}"
    nearest = difflib.get_close_matches(word, _COMMANDS, n=1)
    hint = f'; did you mean "{nearest[0]}"?' if nearest else ""
    return f'unknown command "{word}"{hint}'
