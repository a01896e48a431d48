import asyncio
import random
from itertools import pairwise

import pytest

from steersman.apimachinery.trees import copy_tree
from steersman.asynckit.clock import FakeClock
from steersman.client.errors import Conflict, InternalError, NotFound, RequestFailed
from steersman.runtime.heartbeat import LeaseHeartbeat


def refused(kind, code):
    return kind({"code": code, "reason": kind.__name__, "message": kind.__name__})


class LeaseClient:
    """A server with one lease; what is in ``faults`` is raised first, call by call (None: works)."""

    def __init__(self, clock):
        self.clock, self.lease, self.version = clock, None, 0
        self.calls, self.faults, self.hooks = [], [], []

    async def _called(self, name):
        self.calls.append((name, self.clock.monotonic()))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault

    def _store(self, lease):
        self.version += 1
        self.lease = copy_tree(lease)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return copy_tree(self.lease)

    async def get(self, what, name, *, namespace):
        await self._called("get")
        if self.lease is None:
            raise refused(NotFound, 404)
        return copy_tree(self.lease)

    async def create(self, lease):
        await self._called("create")
        return self._store(lease)

    async def update(self, lease):
        await self._called("update")
        if self.lease is None:
            raise refused(NotFound, 404)
        if lease["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise refused(Conflict, 409)
        return self._store(lease)

    @property
    def names(self):
        return [name for name, _ in self.calls]


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def client(clock):
    return LeaseClient(clock)


@pytest.fixture
async def beating(client, clock):
    """Starts a heartbeat."""
    tasks = []

    def start(**options):
        heartbeat = LeaseHeartbeat(
            client,
            holder_identity="node-1",
            lease_duration_seconds=40,
            renew_interval_seconds=10,
            namespace="kube-node-lease",
            dice=random.Random(1),
            clock=clock,
            **options,
        )
        tasks.append(asyncio.create_task(heartbeat.run()))
        return heartbeat

    yield start
    for task in tasks:
        task.cancel()
    await clock.advance(1)


DOWN = RequestFailed("no connection")


async def test_the_first_beat_is_at_once_and_creates_what_is_missing_with_no_second_write(beating, client, clock):
    beating()
    await clock.advance(0)
    assert client.calls == [("get", 0), ("create", 0)]
    assert client.lease["metadata"] == {"name": "node-1", "namespace": "kube-node-lease", "resourceVersion": "1"}
    assert client.lease["spec"] == {
        "holderIdentity": "node-1",
        "leaseDurationSeconds": 40,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }


async def test_it_renews_each_interval_with_jitter_and_without_reading(beating, client, clock):
    beating()
    await clock.advance(0)
    client.calls.clear()
    await clock.advance(100)
    assert client.names == ["update"] * 9
    waits = [later - earlier for (_, earlier), (_, later) in pairwise([("create", 0), *client.calls])]
    assert [10 <= wait <= 10.4 for wait in waits] == [True] * 9
    assert len(set(waits)) == 9


async def test_the_interval_begins_when_a_beat_has_ended(beating, client, clock):
    beating()
    await clock.advance(0)
    client.calls.clear()
    client.faults = [refused(Conflict, 409), DOWN, DOWN, DOWN]  # ensuring takes 0.2 + 0.4 + 0.8 s
    await clock.advance(25)
    ((_, first), *_, (_, ended), (_, after)) = client.calls
    assert ended - first == pytest.approx(1.4)
    assert 10 <= after - ended <= 10.4


async def test_a_lease_that_is_there_is_renewed_at_the_first_beat(beating, client, clock):
    old = {"metadata": {"name": "node-1", "annotations": {"a": "b"}}, "spec": {"holderIdentity": "node-1"}}
    client._store(old)
    beating()
    await clock.advance(0)
    assert client.names == ["get", "update"]
    assert client.lease["spec"] == {"holderIdentity": "node-1", "renewTime": "2026-01-01T00:00:00.000000Z"}
    assert client.lease["metadata"]["annotations"] == {"a": "b"}


async def test_a_conflict_reads_and_tries_again(beating, client, clock):
    beating()
    await clock.advance(0)
    client._store(client.lease)  # someone else wrote
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update", "get", "update"]


async def test_a_lease_that_is_gone_is_made_anew_after_the_tries(beating, client, clock):
    beating()
    await clock.advance(0)
    client.lease = None
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update"] * 5 + ["get", "create"]


async def test_a_conflict_with_a_deletion_makes_it_anew_with_no_second_write(beating, client, clock):
    beating()
    await clock.advance(0)
    client.faults = [refused(Conflict, 409)]
    client.lease = None
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update", "get", "create"]


async def test_after_five_failed_tries_it_makes_sure_that_the_lease_is_there_and_tries_five_more(
    beating, client, clock
):
    beating()
    await clock.advance(0)
    client.calls.clear()
    client.faults = [DOWN] * 5 + [None] + [DOWN] * 5
    await clock.advance(10.5)
    assert client.names == ["update"] * 5 + ["get"] + ["update"] * 5
    await clock.advance(10.5)
    assert client.names[-1] == "update"


async def test_repeated_failures_are_told_from_the_second_on(beating, client, clock):
    told = []
    beating(on_repeated_failure=lambda: told.append(len(client.calls)))
    await clock.advance(0)
    client.calls.clear()
    client.faults = [DOWN, DOWN, DOWN]
    await clock.advance(10.5)
    assert client.names == ["update"] * 4
    assert told == [2, 3]


async def test_a_conflict_is_a_failed_try_but_not_told(beating, client, clock):
    told = []
    beating(on_repeated_failure=lambda: told.append(len(client.calls)))
    await clock.advance(0)
    client.calls.clear()
    client.faults = [refused(Conflict, 409), None, DOWN]
    await clock.advance(10.5)
    assert client.names == ["update", "get", "update", "update"]
    assert told == [3]


async def test_ensuring_waits_twice_as_long_each_time_up_to_seven_seconds(beating, client, clock):
    client.faults = [DOWN] * 9
    beating()
    await clock.advance(60)
    at = [at for name, at in client.calls if name == "get"]
    assert [b - a for a, b in pairwise(at[:10])] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7, 7, 7])
    assert client.lease is not None


async def test_a_failed_create_is_ensured_again(beating, client, clock):
    client.faults = [None, refused(InternalError, 500)]
    beating()
    await clock.advance(1)
    assert client.names == ["get", "create", "get", "create"]


async def owner(lease):
    lease["metadata"]["ownerReferences"] = [{"kind": "Node", "name": "node-1"}]


async def broken(lease):
    lease["metadata"]["annotations"] = {"half": "done"}
    raise RuntimeError("no such node")


async def test_a_hook_completes_what_is_created_and_what_is_renewed(beating, client, clock):
    beating(post_process=owner)
    await clock.advance(0)
    assert client.lease["metadata"]["ownerReferences"]
    del client.lease["metadata"]["ownerReferences"]
    await clock.advance(10.5)
    assert client.lease["metadata"]["ownerReferences"]


async def test_a_hook_that_fails_blocks_a_create_until_the_next_interval(beating, client, clock, caplog):
    beating(post_process=broken)
    await clock.advance(5)
    assert client.names == ["get"]
    assert "no such node" in caplog.text
    await clock.advance(6)
    assert client.names == ["get", "get"]
    assert client.lease is None


async def test_a_hook_that_fails_does_not_block_a_renewal(beating, client, clock):
    client._store({"metadata": {"name": "node-1"}, "spec": {}})
    beating(post_process=broken)
    await clock.advance(0)
    assert client.names == ["get", "update"]
    assert client.lease["metadata"]["annotations"] == {"half": "done"}


async def test_a_conflict_with_a_deletion_and_a_hook_that_fails_ends_the_beat(beating, client, clock):
    failing = []

    async def hook(lease):
        if failing:
            raise RuntimeError

    beating(post_process=hook)
    await clock.advance(0)
    failing.append(True)
    client.faults = [refused(Conflict, 409)]
    client.lease = None
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update", "get", "get"]


async def test_the_lease_may_have_a_name_of_its_own(beating, client, clock):
    beating(lease_name="apiserver-x")
    await clock.advance(0)
    assert client.lease["metadata"]["name"] == "apiserver-x"
    assert client.lease["spec"]["holderIdentity"] == "node-1"


async def test_without_a_client_it_says_so_and_does_nothing(clock, caplog):
    caplog.set_level("INFO")
    heartbeat = LeaseHeartbeat(
        None, holder_identity="a", lease_duration_seconds=40, renew_interval_seconds=10, namespace="n", clock=clock
    )
    await heartbeat.run()
    assert "has no client, will not claim or renew leases" in caplog.text
    assert clock.waiting == 0


async def test_what_others_wrote_into_the_copy_is_not_changed(client, clock):
    client._store({"metadata": {"name": "node-1"}, "spec": {}})
    heartbeat = LeaseHeartbeat(
        client,
        holder_identity="node-1",
        lease_duration_seconds=40,
        renew_interval_seconds=10,
        namespace="n",
        clock=clock,
    )
    await heartbeat.beat()
    before = copy_tree(heartbeat._latest)
    latest = heartbeat._latest
    await heartbeat.beat()
    assert latest == before
