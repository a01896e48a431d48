"""Started clusters that child processes of the fork server continue as copies.

With a cluster started before the fork, a child saves the start and copies of most pages that a start writes to. The copies
differ in ports, names and UIDs of new objects; the objects created by the start are equal in all.
"""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.workers import stop_workers
from steersman.asynckit.clock import RealClock
from steersman.testing.host.cluster import HostedCluster
from steersman.testing.waiting import SettleError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from steersman.testing.host.options import ClusterOptions
    from steersman.testing.host.prepared import Prepared
    from steersman.testing.host.snapshots import ClusterSnapshot

#: Maximum age of a cluster in real time: a copy must not be older than a heartbeat of its node.
REAL_TIME_SECONDS: Final = 5.0
#: Timeout of the first rounds of control loops, in real time.
FIRST_ROUNDS_SECONDS: Final = 1.0
#: Maximum number of clusters.
CLUSTERS_MAX: Final = 3
#: Descriptors of standard output and standard error.
OUTPUTS: Final = (1, 2)
_CLOCK: Final = RealClock()


class ForkableEventLoop(asyncio.SelectorEventLoop):
    """Event loop that stops before a fork and continues in the child."""

    _default_executor: Any
    _ssock: socket.socket
    _csock: socket.socket

    def __init__(self) -> None:
        """Create the loop with a selector without a descriptor, which processes would share."""
        super().__init__(selectors.PollSelector())

    def end_threads(self) -> None:
        """Wait for the end of all threads of the default executor, and remove the executor."""
        executor, self._default_executor = self._default_executor, None
        if executor is not None:
            executor.shutdown(wait=True)

    def separate(self) -> None:
        """Replace, in the child, the pair of sockets by which threads wake the loop."""
        for own, fresh in zip((self._ssock, self._csock), socket.socketpair(), strict=True):
            fresh.setblocking(False)
            os.dup2(fresh.fileno(), own.fileno(), inheritable=False)
            fresh.close()


class SuspendedCluster:
    """Cluster with a paused event loop, in the process that started it, until a child process continues it."""

    def __init__(self, options: ClusterOptions, snapshot: ClusterSnapshot | None, *, prepared: Prepared) -> None:
        """Start the cluster. Raises the errors of a start."""
        self.cluster: Final = HostedCluster(options, prepared, snapshot)
        self._loop: Final = ForkableEventLoop()
        self._started: Final = _CLOCK.monotonic()
        self._is_timeless: Final = options.clock == "virtual"
        try:
            #: Log of the start.
            self.log: Final = _output_of(lambda: self._loop.run_until_complete(self._start()))
        except BaseException:
            self._close_loop()
            raise
        self._end_threads()

    async def _start(self) -> None:
        """Start the cluster and wait for the first rounds of its loops, which each child would repeat otherwise."""
        await self.cluster.start()
        with suppress(
            SettleError
        ):  # objects of a snapshot may keep controllers busy; the child process continues their work
            await self.cluster.embedded.settle(FIRST_ROUNDS_SECONDS)

    @property
    def is_fresh(self) -> bool:
        """Report whether a copy is young enough to be a new cluster."""
        return self._is_timeless or _CLOCK.monotonic() - self._started < REAL_TIME_SECONDS

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Continue in a forked process until ``work`` ends."""
        self._loop.separate()
        self._loop.run_until_complete(work)

    def close(self) -> None:
        """Stop the cluster in the process that started it."""
        # No client uses it, so its warnings are irrelevant for tests.
        _output_of(lambda: self._loop.run_until_complete(self.cluster.end()))
        self._close_loop()
        gc.collect()  # the loop has many reference cycles, which each child would inherit

    def _close_loop(self) -> None:
        self._loop.run_until_complete(_cancel_all_others())
        self._end_threads()
        self._loop.close()

    def _end_threads(self) -> None:
        self._loop.end_threads()
        stop_workers()


class SuspendedClusters:
    """Cache of suspended clusters by the arguments of their start."""

    def __init__(self, start: Callable[[ClusterOptions, ClusterSnapshot | None], SuspendedCluster]) -> None:
        self._start: Final = start
        #: Least recently used first.
        self._clusters: Final[dict[bytes, SuspendedCluster]] = {}

    def get(self, key: bytes, options: ClusterOptions, snapshot: ClusterSnapshot | None) -> SuspendedCluster:
        """Return the cluster for a key; start it unless a fresh one exists. Raises the errors of a start."""
        cluster = self._clusters.pop(key, None)
        if cluster is not None and not cluster.is_fresh:
            cluster.close()
            cluster = None
        if cluster is None:
            while len(self._clusters) >= CLUSTERS_MAX:
                self._clusters.pop(next(iter(self._clusters))).close()
            cluster = self._start(options, snapshot)
        self._clusters[key] = cluster
        return cluster

    def close(self) -> None:
        """Stop all clusters."""
        while self._clusters:
            self._clusters.popitem()[1].close()


async def _cancel_all_others() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _output_of(work: Callable[[], object]) -> bytes:
    """Call ``work``; return the output of the process meanwhile (standard output and error). Raises the errors of ``work``."""
    own = [os.dup(number) for number in OUTPUTS]
    with os.fdopen(os.memfd_create("output"), "rb") as file:
        for number in OUTPUTS:
            os.dup2(file.fileno(), number)
        try:
            work()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, saved in zip(OUTPUTS, own, strict=True):
                os.dup2(saved, number)
                os.close(saved)
        file.seek(0)
        return file.read()
