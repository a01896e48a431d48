"""``steersman kubectl`` and ``steersman env``: access to a running control plane of this user."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Final

from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.cli.selection import SelectionError, plane_name, running_plane
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Exit codes of shells for a missing command, and for one that cannot be run.
EXIT_NOT_FOUND: Final = 127
EXIT_CANNOT_RUN: Final = 126
_NOT_FOUND: Final = f"""\
steersman: kubectl is not on $PATH
Install it from https://kubernetes.io/docs/tasks/tools/, for example:
  curl -LO https://dl.k8s.io/release/{KUBERNETES_VERSION}/bin/linux/amd64/kubectl
  install -m 755 kubectl ~/.local/bin/
"""
_KUBECTL_USAGE: Final = "usage: steersman kubectl [--name NAME] [KUBECTL ARGUMENTS]\n"
_KUBECTL_HELP: Final = f"""\
{_KUBECTL_USAGE}
Run the kubectl on $PATH with the kubeconfig of a running control plane: the only one, or the one of --name, which must come
first. All other arguments are kubectl's; 'steersman kubectl help' prints its own help.
"""


def run_kubectl(arguments: Sequence[str]) -> int:
    """Execute kubectl in place of this process; returns an exit code only for a single ``--help``, and on failure."""
    if list(arguments) in (["--help"], ["-h"]):
        sys.stdout.write(_KUBECTL_HELP)
        return 0
    try:
        name, rest = split_name(arguments)
    except argparse.ArgumentTypeError as error:
        sys.stderr.write(f"{_KUBECTL_USAGE}steersman kubectl: error: argument --name: {error}\n")
        return 2
    path = shutil.which("kubectl")
    if path is None:
        sys.stderr.write(_NOT_FOUND)
        return EXIT_NOT_FOUND
    try:
        environment = {**os.environ, "KUBECONFIG": running_plane(name).kubeconfig}
    except SelectionError as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1
    ignored = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores SIGPIPE, and programs inherit that
    try:
        os.execve(path, ["kubectl", *rest], environment)  # noqa: S606 — what the user asks for
    except OSError as error:
        sys.stderr.write(f"steersman: {path} cannot be run: {error.strerror}\n")
        return EXIT_CANNOT_RUN
    finally:
        signal.signal(signal.SIGPIPE, ignored)


def split_name(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return ``--name``, which must come first, and kubectl's arguments. Raises ``ArgumentTypeError``."""
    match list(arguments):
        case ["--name", name, *rest]:
            return plane_name(name), rest
        case ["--name"]:
            raise argparse.ArgumentTypeError("expected one argument")
        case [first, *rest] if first.startswith("--name="):
            return plane_name(first.removeprefix("--name=")), rest
        case rest:
            return None, rest


def _posix(path: str) -> str:
    return f"export KUBECONFIG={shlex.quote(path)}"


def _fish(path: str) -> str:
    quoted = path.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx KUBECONFIG '{quoted}'"


def _csh(path: str) -> str:
    return f"setenv KUBECONFIG {shlex.quote(path)}"


def _powershell(path: str) -> str:
    quoted = path.replace("'", "''")
    return f"$Env:KUBECONFIG = '{quoted}'"


#: Command by shell.
SHELLS: Final[dict[str, Callable[[str], str]]] = {
    "bash": _posix,
    "zsh": _posix,
    "sh": _posix,
    "fish": _fish,
    "csh": _csh,
    "tcsh": _csh,
    "powershell": _powershell,
}


def run_env(arguments: Sequence[str]) -> int:
    """Print the command that sets ``$KUBECONFIG``; returns the exit code."""
    parser = FlagParser("env", PAGES["env"])
    parser.add_argument("--name", type=plane_name, help="Name of the control plane (default the only one)")
    parser.add_argument("--shell", choices=tuple(SHELLS), help="Shell (default that of $SHELL, otherwise bash)")
    args = parser.parse_args(arguments)
    try:
        plane = running_plane(args.name)
    except SelectionError as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1
    own = os.environ.get("SHELL", "").rpartition("/")[2]
    command = SHELLS[args.shell or (own if own in SHELLS else "bash")]
    sys.stdout.write(f"{command(plane.kubeconfig)}\n")
    return 0
