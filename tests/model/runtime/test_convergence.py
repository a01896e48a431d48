"""A controller of many dependents on a late cache and a bad network: in the end there are as many as are wanted."""

import asyncio
from contextlib import asynccontextmanager
from random import Random

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.changes import Added, Deleted
from steersman.client.objects import key_of, labels_of, name_of, namespace_of
from steersman.client.resource_types import tree
from steersman.client.transport import Response, TransportError
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.context import ControllerContext
from steersman.runtime.controller import Controller
from steersman.runtime.dependents import candidates, index_dependents
from steersman.runtime.expectations import Expectations
from steersman.runtime.owners import controller_of, controller_reference
from steersman.runtime.references import ReferenceManager
from steersman.runtime.result import Result
from steersman.runtime.slowstart import slow_start_batch
from steersman.testing import InProcessAPIServer

MAPS = tree("v1", "ConfigMap")
POOL_KEY = "default/pool"
REFUSED = Response(500, {}, b'{"kind":"Status","status":"Failure","reason":"InternalError","code":500,"message":"no"}')


class Pool(Controller):
    """Keeps as many ConfigMaps as the one named ``pool`` says in ``data.size``."""

    name = "pool"

    def __init__(self, context) -> None:
        super().__init__(context, workers=2)
        self.expectations = Expectations(self.clock)
        self.pools = self.watch(MAPS, field_selector="metadata.name=pool")
        self.members = self.watch(MAPS, label_selector="in=pool", keys=pool_keys)
        self.members.add_callback(self._tick_off)
        index_dependents(self.members)

    def _tick_off(self, change) -> None:
        for key in pool_keys(change.latest):
            if isinstance(change, Added):
                self.expectations.creation_observed(key)
            elif isinstance(change, Deleted):
                self.expectations.deletion_observed(key, key_of(change.latest))

    async def reconcile(self, key):
        pool = self.pools.lister.by_key(key)
        if pool is None:
            return None
        if not self.expectations.satisfied(key):
            return Result(requeue_after_seconds=self.expectations.seconds_to_expiry(key))
        references = ReferenceManager(self.client, pool, controller_resource=MAPS, dependents=MAPS)
        found = candidates(self.members.lister, pool)
        members = await references.claim(found, lambda obj: labels_of(obj).get("in") == "pool")
        missing = int(pool["data"]["size"]) - len(members)
        if missing > 0:
            await self._create(key, pool, missing)
        elif missing < 0:
            await self._delete(key, sorted(members, key=name_of)[:-missing])
        return None

    async def _create(self, key, pool, count) -> None:
        self.expectations.expect(key, creations=count)
        owner = controller_reference(pool, api_version="v1", kind="ConfigMap").tree()
        metadata = {"generateName": "member-", "namespace": namespace_of(pool), "labels": {"in": "pool"}}
        member = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata | {"ownerReferences": [owner]}}
        done = await slow_start_batch(count, lambda number: self.client.create(member))
        self.expectations.lower(key, creations=len(done.errors) + done.skipped)
        if done.errors:
            raise ExceptionGroup("members could not be made", done.errors)

    async def _delete(self, key, surplus) -> None:
        self.expectations.expect(key, deletions=[key_of(member) for member in surplus])
        async with asyncio.TaskGroup() as group:
            for member in surplus:
                group.create_task(self._delete_one(key, member))

    async def _delete_one(self, key, member) -> None:
        try:
            await self.client.delete_object(member, uid=member["metadata"]["uid"])
        except BaseException:
            self.expectations.deletion_observed(key, key_of(member))
            raise


def pool_keys(member):
    owner = controller_of(member)
    return [f"default/{owner.name}"] if owner is not None else [POOL_KEY]


class BadNetwork:
    """Client whose requests fail at times, before or after they have effect, and whose watch events are delayed."""

    host = "bad"

    def __init__(self, near, clock, dice) -> None:
        self._near, self._clock, self._dice = near, clock, dice
        self.refuse = self.lose = 0.0

    async def request(self, request):
        await self._clock.sleep(self._dice.uniform(0.001, 0.1))
        if self._dice.random() < self.refuse:
            return REFUSED
        answer = await self._near.request(request)
        if self._dice.random() < self.lose:
            raise TransportError("the answer was lost")
        return answer

    @asynccontextmanager
    async def open(self, request):
        async with self._near.open(request) as stream:
            yield LateStream(stream, self._clock, self._dice)

    async def close(self) -> None:
        """Do nothing; no connection is open."""


class LateStream:
    def __init__(self, stream, clock, dice) -> None:
        self.status, self.headers = stream.status, stream.headers
        self._stream, self._clock, self._dice = stream, clock, dice

    async def __aiter__(self):
        async for piece in self._stream:
            await self._clock.sleep(self._dice.uniform(0, 3))
            yield piece


class Run:
    """The controller on a bad network, beside a client on a good one."""

    def __init__(self, server, clock, seed) -> None:
        self.clock, self.dice = clock, Random(seed)
        near = LoopbackTransport(server.core.client)
        self.near = Client(near, clock=clock)
        self.network = BadNetwork(near, clock, self.dice)
        self.context = ControllerContext(Client(self.network, clock=clock), dice=self.dice)
        self.pool = Pool(self.context)
        self.most = 0

    async def size(self, size) -> None:
        await self.near.patch(MAPS, "pool", {"data": {"size": str(size)}}, namespace="default")

    async def members(self):
        return await self.near.list(MAPS, namespace="default", label_selector="in=pool")

    async def pass_time(self, seconds) -> None:
        for _ in range(seconds):
            await self.clock.advance(1)
            self.most = max(self.most, len(await self.members()))


@pytest.fixture
async def run():
    """A running controller for a seed."""
    clock, runs = FakeClock(), []
    async with InProcessAPIServer(clock=clock) as server:

        async def start(seed):
            made = Run(server, clock, seed)
            pool = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pool", "namespace": "default"}}
            await made.near.create(pool | {"data": {"size": "0"}})
            made.context.informers.start()
            runs.append((made, asyncio.create_task(made.pool.run())))
            await made.pass_time(10)
            return made

        yield start
        for made, task in runs:
            task.cancel()
            await asyncio.wait([task])
            await made.context.informers.close()


@pytest.mark.parametrize("seed", range(4))
async def test_reconcile_never_exceeds_replicas_with_stale_cache_and_rejections(run, seed):
    made = await run(seed)
    made.network.refuse = 0.3
    await made.size(20)
    await made.pass_time(60)
    made.network.refuse = 0.0
    await made.pass_time(60)
    assert (len(await made.members()), made.most) == (20, 20)


@pytest.mark.parametrize("seed", range(4))
async def test_reconcile_converges_to_replicas_after_lost_responses(run, seed):
    made = await run(seed)
    made.network.refuse, made.network.lose = 0.2, 0.2
    for _ in range(6):
        await made.size(made.dice.randrange(15))
        await made.pass_time(made.dice.randrange(40))
    made.network.refuse = made.network.lose = 0.0
    await made.size(7)
    await made.pass_time(400)
    assert len(await made.members()) == 7


async def test_reconcile_adopts_and_counts_orphans(run):
    made = await run(1)
    metadata = {"name": "stray", "namespace": "default", "labels": {"in": "pool"}}
    await made.near.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    await made.pass_time(10)
    await made.size(3)
    await made.pass_time(30)
    members = await made.members()
    assert len(members) == 3
    assert {controller_of(member).name for member in members} == {"pool"}
