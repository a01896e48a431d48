"""Fork server of clusters: ``python -m steersman.testing.host FD``."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apiserver.workers import stop_workers
from steersman.controlplane.cyclic_garbage import limit_collections
from steersman.controlplane.options import OptionError
from steersman.testing.errors import ClusterError
from steersman.testing.forkserver.server import ForkServer
from steersman.testing.host.calls import Calls
from steersman.testing.host.channel import CallServer
from steersman.testing.host.cluster import HostedCluster
from steersman.testing.host.commands import run_command
from steersman.testing.host.observing import ObservingCalls
from steersman.testing.host.options import ClusterOptions
from steersman.testing.host.prepared import prepare
from steersman.testing.host.snapshots import ClusterSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.testing.forkserver.server import Target
    from steersman.testing.host.prepared import Prepared


def main(descriptor: int) -> None:
    """Prepare, and serve until the other end of the connection closes."""
    with tempfile.TemporaryDirectory(prefix="steersman-testing-") as directory:
        prepared = prepare(Path(directory))
        rehearse(prepared, Path(directory))
        stop_workers()
        connection = socket.socket(fileno=descriptor)
        targets: dict[str, Target] = {"cluster": partial(run_cluster, prepared=prepared), "command": run_command}
        ForkServer(targets, main=connection).run()


def rehearse(prepared: Prepared, directory: Path) -> None:
    """Start and stop clusters, which imports what they need, and add their states to the snapshots."""

    async def state_of(options: ClusterOptions) -> ClusterSnapshot:
        cluster = HostedCluster(options, prepared, directory, None)
        await cluster.start()
        snapshot = cluster.snapshot()
        await cluster.stop()
        return snapshot

    logging.disable(logging.WARNING)  # no client uses these clusters
    for options in (
        ClusterOptions(clock="virtual", seed=0, nodes=0, controllers=[], scheduler=False),
        ClusterOptions(clock="virtual", seed=0),
    ):
        prepared.snapshots[options.is_whole] = asyncio.run(state_of(options))
    logging.disable(logging.NOTSET)


def run_cluster(arguments: dict[str, Any], descriptors: Sequence[int], *, prepared: Prepared) -> int:
    """Run a cluster until a signal. Descriptors: log, listening socket for calls, and file of the snapshot if there is one."""
    log, listener, *more = descriptors
    for number in (1, 2):
        os.dup2(log, number)
    options = msgspec.convert(arguments["options"], ClusterOptions)
    snapshot = None
    if more:
        with os.fdopen(more[0], "rb") as file:
            file.seek(0)
            snapshot = ClusterSnapshot.decode(file.read())
    try:
        cluster = HostedCluster(options, prepared, Path(arguments["directory"]), snapshot)
        limit_collections()
        asyncio.run(_serve(cluster, socket.socket(fileno=os.dup(listener))))
    except (ClusterError, OptionError) as error:
        sys.stderr.write(f"{error}\n")  # without a traceback: an option of the user is wrong
        return 1
    return 0


async def _serve(cluster: HostedCluster, listener: socket.socket) -> None:
    await cluster.start()
    server = CallServer({**Calls(cluster).methods(), **ObservingCalls(cluster).methods()})
    await server.start(listener)
    await asyncio.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
