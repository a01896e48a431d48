"""Event loop that continues in a child, and the choice of suspended clusters; as a whole: ``test_kit.py``."""

from __future__ import annotations

import asyncio
import os

import pytest

from steersman.testing.host import suspended
from steersman.testing.host.options import ClusterOptions
from steersman.testing.host.suspended import CLUSTERS_MAX, ForkableEventLoop, SuspendedClusters
from steersman.testing.waiting import SettleError


@pytest.fixture
def loop():
    loop = ForkableEventLoop()
    yield loop
    loop.end_threads()
    loop.close()


def test_loop_starts_threads_again_after_they_were_ended(loop):
    for _ in range(2):
        assert loop.run_until_complete(asyncio.to_thread(lambda: "from a thread")) == "from a thread"
        loop.end_threads()


def test_separated_loop_has_its_own_wakeup_sockets(loop):
    def identities():
        return {os.fstat(sock.fileno()).st_ino for sock in (loop._ssock, loop._csock)}

    shared = identities()
    loop.separate()
    assert not shared & identities()
    assert loop.run_until_complete(asyncio.to_thread(lambda: "from a thread")) == "from a thread"


class Restless:
    """Stands for a cluster whose controllers work without end."""

    def __init__(self, *args):
        self.embedded, self.timeouts = self, []

    async def start(self):
        """Start at once."""

    async def settle(self, *timeouts):
        self.timeouts += timeouts
        raise SettleError("a planted hot loop")

    async def end(self):
        """End at once."""


def test_cluster_that_does_not_settle_is_suspended(monkeypatch):
    monkeypatch.setattr(suspended, "HostedCluster", Restless)
    cluster = suspended.SuspendedCluster(ClusterOptions(), None, prepared=None)
    assert cluster.cluster.timeouts == [suspended.FIRST_ROUNDS_SECONDS]
    cluster.close()


class Recorded:
    """Stands for a suspended cluster."""

    def __init__(self, options, snapshot):
        self.options, self.snapshot = options, snapshot
        self.is_fresh, self.is_closed = True, False

    def close(self):
        self.is_closed = True


def test_equal_starts_share_a_cluster():
    clusters, options = SuspendedClusters(Recorded), ClusterOptions()
    one = clusters.get(b"one", options, None)
    assert one.options is options
    assert clusters.get(b"one", options, None) is one
    assert clusters.get(b"other", options, None) is not one


def test_cluster_that_is_not_fresh_is_started_again():
    clusters = SuspendedClusters(Recorded)
    old = clusters.get(b"one", ClusterOptions(), None)
    old.is_fresh = False
    assert clusters.get(b"one", ClusterOptions(), None) is not old
    assert old.is_closed


def test_least_recently_used_cluster_makes_room():
    clusters = SuspendedClusters(Recorded)
    started = [clusters.get(b"%d" % number, ClusterOptions(), None) for number in range(CLUSTERS_MAX)]
    clusters.get(b"0", ClusterOptions(), None)
    clusters.get(b"more", ClusterOptions(), None)
    assert [cluster.is_closed for cluster in started] == [number == 1 for number in range(CLUSTERS_MAX)]
    clusters.close()
    assert all(cluster.is_closed for cluster in started)


def test_failed_start_leaves_no_cluster():
    def fail(options, snapshot):
        raise ValueError("a planted failure")

    clusters = SuspendedClusters(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="planted"):
            clusters.get(b"one", ClusterOptions(), None)
