"""``steersman``: selection of the command."""

from __future__ import annotations

import gc
import importlib
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

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
#: Commands that run an API server.
_SERVERS: Final = ("up", "apiserver")
_HELP: Final = frozenset(("-h", "--help", "--help-all"))
_TOOLKIT: Final = ("toolkit",)
_SERVER: Final = ("server",)
_ALL: Final = ("server", "toolkit")


class _Command(NamedTuple):
    """Function that implements a command; its module is imported on demand."""

    #: Module of ``steersman.cli`` and function.
    function: str
    #: Extras that it requires.
    extras: tuple[str, ...] = ()
    #: True if it uses ``lightkube-models`` without the client of ``lightkube``.
    is_typed: bool = False
    #: True if the first argument of the function is the command.
    takes_name: bool = False


_COMMANDS: Final[dict[str, _Command]] = {
    "up": _Command("apiserver:run", _ALL),
    "apiserver": _Command("apiserver:run", _SERVER),
    "controller-manager": _Command("controller_manager:run", _ALL, is_typed=True),
    "scheduler": _Command("components:run", _ALL, is_typed=True, takes_name=True),
    "nodes": _Command("components:run", _ALL, is_typed=True, takes_name=True),
    "components": _Command("components:run", _ALL, is_typed=True, takes_name=True),
    "status": _Command("status:run", _TOOLKIT, is_typed=True),
    "down": _Command("down:run"),
    "kubectl": _Command("kubectl:run_kubectl"),
    "env": _Command("kubectl:run_env"),
    "elections": _Command("elections:run", _TOOLKIT),
    "check": _Command("check:run"),
    "check-storage": _Command("check_storage:run"),
    "export-to-etcd": _Command("transfer:run", takes_name=True),
    "import-from-etcd": _Command("transfer:run", takes_name=True),
    "backup": _Command("backup:run"),
    "repair": _Command("repair:run"),
    "envtest": _Command("envtest:run", _ALL),
    "faults": _Command("faults:run", _ALL),
}
#: Words that are suggested for an unknown command; ``up`` starts ``components`` itself.
_SUGGESTIONS: Final = (*(name for name in _COMMANDS if name != "components"), "version", "help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code. Without ``argv`` it also handles the signals of the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    begun_seconds = time.perf_counter()
    if argv is None and arguments[:1] and arguments[0] in _LONG_RUNNING:
        signals.exit_on_signals()
        signals.exit_with_parent(arguments)
        gc.disable()  # a start leaves little garbage; the command enables the collector again
    command = _COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        return _inform(arguments)
    name, rest = arguments[0], arguments[1:]
    if command.extras:
        try:
            require(f"steersman {name}", *command.extras)
        except MissingPackagesError as error:
            sys.stderr.write(f"{error}\n")
            return 1
    if command.is_typed:
        from steersman.cli.model_imports import skip_lightkube_client  # noqa: PLC0415 — only where models are used

        skip_lightkube_client()
    if name in _SERVERS:
        return _serve(name, rest, begun_seconds=begun_seconds)
    module, _, function = command.function.partition(":")
    run = getattr(importlib.import_module(f"steersman.cli.{module}"), function)
    return int(run(name, rest) if command.takes_name else run(rest))


def _inform(arguments: list[str]) -> int:
    """Answer a question about all commands, or report an unknown one."""
    match arguments:
        case ["--version" | "version"]:
            sys.stdout.write(f"steersman {__version__} (Kubernetes {KUBERNETES_VERSION})\n")
        case ["help", name, *_] if name not in _HELP:
            return main([name, "--help"])
        case ["version", word] if word in _HELP:
            sys.stdout.write(_VERSION_USAGE)
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
    return 0


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
    nearest = difflib.get_close_matches(word, _SUGGESTIONS, n=1)
    hint = f'; did you mean "{nearest[0]}"?' if nearest else ""
    return f'unknown command "{word}"{hint}'
