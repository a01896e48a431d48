"""Folder of assets: shell scripts named ``kube-apiserver``, ``etcd`` and ``kubectl``, and their options.

A script answers ``--help`` and ``--version`` itself, as envtest asks each program for its flags before it starts it.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.files import write_private
from steersman.testing.envtest import etcd, kube_apiserver
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS_FILE: Final = "options.json"
_SCRIPT: Final = """\
#!/bin/sh
# {name} of `steersman envtest`
for word in "$@"; do
  case $word in
    --help | -h) exec cat {help} ;;
    --version | --version=true) exec echo {version} ;;
  esac
done
exec {command} "$@"
"""
_KUBECTL: Final = """\
#!/bin/sh
# kubectl of `steersman envtest`: the next one on $PATH
own={own}
IFS=:
for folder in $PATH; do
  if [ "$folder" != "$own" ] && [ -x "$folder/kubectl" ] && ! [ "$folder/kubectl" -ef "$0" ]; then
    exec "$folder/kubectl" "$@"
  fi
done
echo "kubectl: there is none on \\$PATH; install it from https://kubernetes.io/docs/tasks/tools/ to use it in tests" >&2
exit 127
"""
_ETCD_HELP: Final = """\
etcd of `steersman envtest`: answers health checks; the objects are kept by its API server.

flags:
  --data-dir 'default.etcd'
    Directory for files of the API server.
  --listen-client-urls 'http://localhost:2379'
    Comma-separated http URLs to listen on.
  --unsafe-no-fsync 'false'
    Without effect, as are all other flags.
"""


class EnvtestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the control planes that envtest starts from a folder."""

    #: Run controllers, a scheduler and a simulated node as well.
    with_controllers: bool = False
    #: ``memory`` or ``sqlite``.
    storage: str = "memory"


def assets_directory(parent: Path, options: EnvtestOptions) -> Path:
    """Return the folder for these options and this installation; other options or installations have separate folders."""
    name = "with-controllers" if options.with_controllers else "apiserver"
    identity = msgspec.json.encode([sys.executable, etcd.__file__, __version__, msgspec.to_builtins(options)])
    return parent / f"{name}-{hashlib.sha256(identity).hexdigest()[:10]}"


def write_assets(directory: Path, options: EnvtestOptions, *, apiserver_help: str) -> None:
    """Write the folder; files that are up to date stay. Raises ``OSError``."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    python = [sys.executable, "-I", "-S"]
    etcd_help, server_help = directory / ".etcd-help", directory / ".kube-apiserver-help"
    texts: Mapping[str, str] = {
        _OPTIONS_FILE: msgspec.json.encode(options).decode(),
        etcd_help.name: _ETCD_HELP,
        server_help.name: apiserver_help,
        "etcd": _script(
            "etcd", [*python, etcd.__file__, str(directory)], etcd_help, version=f"etcd Version: {etcd.VERSION}"
        ),
        "kube-apiserver": _script(
            "kube-apiserver",
            [*python, kube_apiserver.__file__],
            server_help,
            version=f"Kubernetes {KUBERNETES_VERSION}",
        ),
        "kubectl": _KUBECTL.format(own=shlex.quote(str(directory))),
    }
    for name, text in texts.items():
        path = directory / name
        if not (path.exists() and path.read_text() == text):
            written = path.with_name(f".{name}.{os.getpid()}")  # executable before it has its name
            write_private(written, text.encode())
            written.chmod(0o700 if text.startswith("#!") else 0o600)
            written.replace(path)


def read_options(directory: str | os.PathLike[str]) -> EnvtestOptions:
    """Return the options of a folder. Raises ``OSError``, ``msgspec.MsgspecError``."""
    return msgspec.json.decode((Path(directory) / _OPTIONS_FILE).read_bytes(), type=EnvtestOptions)


def _script(name: str, command: list[str], help_file: Path, *, version: str) -> str:
    return _SCRIPT.format(
        name=name, help=shlex.quote(str(help_file)), version=shlex.quote(version), command=shlex.join(command)
    )
