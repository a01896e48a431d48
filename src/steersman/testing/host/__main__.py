"""Fork server of clusters: ``python -m steersman.testing.host FD``."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
from steersman.testing.host.suspended import OUTPUTS, SuspendedCluster, SuspendedClusters

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from steersman.testing.forkserver.server import Target
    from steersman.testing.host.prepared import Prepared


def main(descriptor: int) -> None:
    """Prepare the fork server and serve until the connection closes."""
    with tempfile.TemporaryDirectory(prefix="steersman-testing-") as directory:
        prepared = prepare(Path(directory))
        warm_up(prepared, Path(directory))
        stop_workers()
        connection = socket.socket(fileno=descriptor)
        suspended_clusters = SuspendedClusters(partial(SuspendedCluster, prepared=prepared))
        clusters = ClusterTarget(prepared, suspended_clusters)
        targets: dict[str, Target] = {"cluster": clusters.run, "command": run_command}
        ForkServer(targets, main=connection, before_fork={"cluster": clusters.before_fork}).run()
        suspended_clusters.close()


def warm_up(prepared: Prepared, directory: Path) -> None:
    """Start and stop clusters, to import their modules, and add their states to the snapshots."""

    async def state_of(options: ClusterOptions) -> ClusterSnapshot:
        cluster = HostedCluster(options, prepared)
        await _start(cluster, directory)
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


class ClusterTarget:
    """Target of the fork server: one cluster, until a signal. Descriptors: log, listening socket for calls, and file of the
    snapshot, if any.
    """

    def __init__(self, prepared: Prepared, suspended_clusters: SuspendedClusters) -> None:
        self._prepared: Final = prepared
        self._suspended_clusters: Final = suspended_clusters
        #: Cluster that the next child continues; None if the child starts one.
        self._suspended: SuspendedCluster | None = None

    def before_fork(self, arguments: dict[str, Any], descriptors: Sequence[int]) -> None:
        """Start the cluster in the server, unless an equal one is suspended."""
        self._suspended = None
        with suppress(Exception):  # the child repeats the start and reports the error
            options, data = _options_of(arguments), _data_of(descriptors)
            if options.store == "memory":  # a database file belongs to one process
                key = msgspec.json.encode(options) + hashlib.sha256(data).digest()
                self._suspended = self._suspended_clusters.get(key, options, _snapshot_of(data))

    def run(self, arguments: dict[str, Any], descriptors: Sequence[int]) -> int:
        """Run in the child."""
        log, listener, *_ = descriptors
        for number in OUTPUTS:
            os.dup2(log, number)
        directory, calls = Path(arguments["directory"]), socket.socket(fileno=os.dup(listener))
        limit_collections()
        try:
            if self._suspended is not None:
                os.write(log, self._suspended.log)
                cluster = self._suspended.cluster
                self._suspended.run(_serve(cluster, cluster.continue_forked(directory), calls))
            else:
                snapshot = _snapshot_of(_data_of(descriptors))
                cluster = HostedCluster(_options_of(arguments), self._prepared, snapshot)
                asyncio.run(_serve(cluster, _start(cluster, directory), calls))
        except (ClusterError, OptionError) as error:
            sys.stderr.write(f"{error}\n")  # no traceback: an option of the user is invalid
            return 1
        return 0


def _options_of(arguments: dict[str, Any]) -> ClusterOptions:
    return msgspec.convert(arguments["options"], ClusterOptions)


def _data_of(descriptors: Sequence[int]) -> bytes:
    """Return the encoded snapshot of a start; empty if absent."""
    if len(descriptors) < 3:
        return b""
    file = descriptors[2]
    return os.pread(file, os.fstat(file).st_size, 0)


def _snapshot_of(data: bytes) -> ClusterSnapshot | None:
    return ClusterSnapshot.decode(data) if data else None


async def _start(cluster: HostedCluster, directory: Path) -> None:
    cluster.bind(directory)
    await cluster.start()
    await cluster.serve()


async def _serve(cluster: HostedCluster, start: Coroutine[Any, Any, None], listener: socket.socket) -> None:
    await start
    server = CallServer({**Calls(cluster).methods(), **ObservingCalls(cluster).methods()})
    await server.start(listener)
    await asyncio.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
