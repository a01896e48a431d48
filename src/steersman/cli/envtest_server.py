"""Fork server of the API servers of envtest: ``python -m steersman.cli.envtest_server ASSETS DIRECTORY LISTENER MAIN``.

Started by ``steersman.testing.envtest.etcd``. Before the first request it imports the API server, creates certificates, and
starts an API server once.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvloop

from steersman.apiserver.workers import stop_workers
from steersman.asynckit.clock import RealClock
from steersman.cli import apiserver
from steersman.cli.flags import parser
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.pki import ensure_pki, server_names
from steersman.testing.envtest.assets import EnvtestOptions, read_options
from steersman.testing.forkserver.server import ForkServer

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULTS: Final = APIServerOptions()


def main(assets: Path, directory: Path, *, listener: socket.socket, main: socket.socket) -> None:
    """Prepare, and serve until ``main`` closes."""
    options = read_options(assets)
    target = partial(run_apiserver, options=options, pki=assets / "pki", directory=directory)
    server = ForkServer({"kube-apiserver": target}, main=main, listener=listener)
    if not server.has_requests:
        prepare_pki(assets / "pki")
    parser("up" if options.with_controllers else "apiserver")
    if not server.has_requests:
        warm_up(directory / "warm-up", assets / "pki")
    stop_workers()
    server.run()


def prepare_pki(directory: Path) -> None:
    """Create or renew the certificates that API servers copy. Safe with concurrent processes."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        names = server_names(_DEFAULTS.service_cluster_ip_range, _DEFAULTS.bind_address)
        ensure_pki(directory, names, now=RealClock().now())


def copy_pki(template: Path, directory: Path) -> None:
    """Copy the prepared certificates. Without them the API server creates its own."""
    if not template.exists() or directory.exists():
        return
    with (template / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        shutil.copytree(template, directory, ignore=shutil.ignore_patterns(".*"))


def warm_up(directory: Path, pki: Path) -> None:
    """Start and stop an API server, which imports modules and fills caches for later starts."""
    copy_pki(pki, directory / "pki")
    logging.disable(logging.WARNING)  # no client uses this server

    async def start_and_stop() -> None:
        server = await APIServer.start(APIServerOptions(ephemeral=True, data_dir=directory, secure_port=0))
        await server.stop(grace_seconds=0)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(start_and_stop())
    logging.disable(logging.NOTSET)
    shutil.rmtree(directory, ignore_errors=True)


def run_apiserver(
    arguments: dict[str, Any], descriptors: Sequence[int], *, options: EnvtestOptions, pki: Path, directory: Path
) -> int:
    """Run an API server in this process, with kube-apiserver's flags, working directory and output of the client."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.chdir(arguments["directory"])
    data_dir = directory / "apiserver"
    data_dir.mkdir(exist_ok=True, mode=0o700)
    with (data_dir / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.stderr.write("kube-apiserver: another API server uses this etcd, start an etcd for each\n")
            return 1
        copy_pki(pki, data_dir / "pki")
        flags = server_flags(arguments["arguments"], options, data_dir)
        return apiserver.run("up" if options.with_controllers else "apiserver", flags, announces=False)


def server_flags(arguments: Sequence[str], options: EnvtestOptions, data_dir: Path) -> list[str]:
    """Return the server's flags for those of kube-apiserver, with its own storage and the certificates in ``--cert-dir``.

    Upstream: ``SecureServingOptions.MaybeDefaultWithSelfSignedCerts``.
    """
    flags = [f"--data-dir={data_dir}", f"--storage={options.storage}"]
    if options.with_controllers:
        flags += ["--nodes=1", "--wait=false"]
    certificates = ""
    words = iter(arguments)
    for word in words:
        name, is_joined, value = word.partition("=")
        if name in ("--etcd-servers", "--cert-dir"):
            value = value if is_joined else next(words, "")
            certificates = value if name == "--cert-dir" else certificates
        else:
            flags.append(word)
    pair = Path(certificates, "apiserver.crt"), Path(certificates, "apiserver.key")
    names_certificate = any(flag.startswith("--tls-cert-file") for flag in flags)
    if certificates and not names_certificate and all(path.exists() for path in pair):
        flags += [f"--tls-cert-file={pair[0]}", f"--tls-private-key-file={pair[1]}"]
    return flags


if __name__ == "__main__":
    _assets, _directory, _listener, _main = sys.argv[1:]
    main(
        Path(_assets),
        Path(_directory),
        listener=socket.socket(fileno=int(_listener)),
        main=socket.socket(fileno=int(_main)),
    )
