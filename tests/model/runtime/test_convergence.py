"""A controller of many dependents on a late cache and a bad network: in the end there are as many as are wanted."""

import asyncio

from steersman.client.changes import Added, Deleted
from steersman.client.objects import key_of, labels_of, name_of, namespace_of
from steersman.client.resource_types import tree
from steersman.runtime.controller import Controller
from steersman.runtime.dependents import candidates, index_dependents
from steersman.runtime.expectations import Expectations
from steersman.runtime.owners import controller_of, controller_reference
from steersman.runtime.references import ReferenceManager
from steersman.runtime.result import Result
from steersman.runtime.slowstart import slow_start_batch
from steersman.testing.simulation import simulate

MAPS = tree("v1", "ConfigMap")
POOL_KEY = "default/pool"
#: An API server alone, whose clients wait long for responses and events.
LATE = {"nodes": 0, "controllers": [], "scheduler": False, "latency_seconds": 2.0}
REFUSALS = [{"respond": 500, "probability": 0.3}]
LOSSES = [{"respond": 500, "probability": 0.2}, {"respond": "lose-answer", "probability": 0.2}]


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
        matching = candidates(self.members.lister, pool)
        members = await references.claim(matching, lambda obj: labels_of(obj).get("in") == "pool")
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


class Run:
    """The controller of a simulation, and the user who changes the size of its pool."""

    def __init__(self, simulation) -> None:
        self.simulation = simulation
        self.client = simulation.client()
        #: Largest number of members so far.
        self.most = 0

    @classmethod
    async def start(cls, simulation):
        run = cls(simulation)
        pool = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pool", "namespace": "default"}}
        await run.client.create(pool | {"data": {"size": "0"}})
        await simulation.run_controller(Pool, user_agent="pool")
        return run

    async def set_size(self, size) -> None:
        await self.client.patch(MAPS, "pool", {"data": {"size": str(size)}}, namespace="default")

    async def members(self):
        return await self.client.list(MAPS, namespace="default", label_selector="in=pool")

    async def pass_time(self, seconds) -> None:
        for _ in range(seconds):
            await self.simulation.clock.advance(1)
            self.most = max(self.most, len(await self.members()))


@simulate(seeds=range(4), faults=REFUSALS, **LATE)
async def test_pool_never_exceeds_its_size_when_requests_are_refused(simulation):
    run = await Run.start(simulation)
    await run.set_size(20)
    await run.pass_time(120)
    await simulation.heal()
    await run.pass_time(120)
    assert (len(await run.members()), run.most) == (20, 20)


@simulate(seeds=range(4), faults=LOSSES, **LATE)
async def test_pool_reaches_its_size_when_answers_are_lost(simulation):
    run = await Run.start(simulation)
    for _ in range(6):
        await run.set_size(simulation.dice.randrange(15))
        await run.pass_time(simulation.dice.randrange(40))
    await simulation.heal()
    await run.set_size(7)
    await run.pass_time(400)
    assert len(await run.members()) == 7


@simulate(seeds=[1], faults=[], **LATE)
async def test_pool_adopts_orphans(simulation):
    run = await Run.start(simulation)
    metadata = {"name": "stray", "namespace": "default", "labels": {"in": "pool"}}
    await run.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    await run.pass_time(20)
    await run.set_size(3)
    await run.pass_time(60)
    members = await run.members()
    assert len(members) == 3
    assert {controller_of(member).name for member in members} == {"pool"}
