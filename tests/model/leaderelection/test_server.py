"""Elections against an API server in this process: classic elections under faults, and coordinated hand-over."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random

import pytest
from tests.model.leaderelection.world import Way, World

import steersman.controlplane.bootstrap.loops  # noqa: F401 — so that the server need not import it while time stands still
from steersman.apimachinery.timestamps import format_micro_time, parse_time
from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.errors import NotFound
from steersman.client.leaderelection import LeaderElector, LeaseLock, TermEnd
from steersman.client.leaderelection.candidate import Candidacy, LeaseCandidate
from steersman.client.leaderelection.lock import LEASES
from steersman.client.transport import TransportError
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer

SECONDS = 600


class FarStream:
    """A watch whose pieces take the way."""

    def __init__(self, stream, way) -> None:
        self.status, self.headers = stream.status, stream.headers
        self._stream, self._way = stream, way

    async def __aiter__(self):
        async for piece in self._stream:
            await self._way.travel()
            yield piece


class FarTransport:
    """Requests take the way there, and answers the way back."""

    host = "far"

    def __init__(self, loopback, way) -> None:
        self._near, self._way = LoopbackTransport(loopback), way

    async def request(self, request):
        await self._way.travel()
        answer = await self._near.request(request)
        await self._way.travel()
        return answer

    @asynccontextmanager
    async def open(self, request):
        await self._way.travel()
        async with self._near.open(request) as stream:
            yield FarStream(stream, self._way)

    async def close(self):
        """Do nothing: no connection is kept open."""


class ServerWorld(World):
    """Contenders for a Lease."""

    def __init__(self, seed, server, true) -> None:
        super().__init__(seed, true=true)
        self._server = server

    def reach(self, identity, clock):
        way = Way(self.true, clock, self.dice, failure=TransportError)
        client = Client(FarTransport(self._server.core.client, way), clock=clock)
        return way, LeaseLock(client, namespace="default", name="lead", identity=identity)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def server(clock):
    async with InProcessAPIServer(clock=clock) as running:
        yield running


@pytest.fixture
async def world(server, clock):
    server_world = ServerWorld(4, server, clock)
    for contender in server_world.contenders:
        contender.start()
    yield server_world
    await server_world.close()


async def test_electors_of_a_lease_have_one_leader_and_hand_over_in_time(world):
    while world.true.monotonic() < SECONDS:
        await world.strike()
        await world.pass_time(world.dice.expovariate(1 / 15))
    world.heal()
    await world.pass_time(60)
    await world.leaders[0].leave()
    assert await world.until_led(60) < 1
    await world.pass_time(60)
    world.leaders[0].crash()
    assert await world.until_led(60) <= 15 + 2
    assert world.violations == []
    assert len(world.terms) > 3


class Component:
    """A candidate, its elector, and work that notes when it runs."""

    def __init__(self, client, name, *, emulation_version) -> None:
        candidacy = Candidacy("default", name, "lead", binary_version="1.36.0", emulation_version=emulation_version)
        candidate = LeaseCandidate(client, candidacy, dice=Random(name))
        lock = LeaseLock(client, namespace="default", name="lead", identity=name)
        self.elector = LeaderElector(lock, clock=client.clock, dice=Random(name), candidate=candidate)
        self.name, self.clock, self.log, self.ends = name, client.clock, [], []
        self.task = None

    def start(self):
        self.task = asyncio.create_task(self._contend())

    async def _contend(self):
        while True:
            self.ends.append(await self.elector.run(self._work))

    async def _work(self):
        self.log.append(("began", self.clock.monotonic()))
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.log.append(("ended", self.clock.monotonic()))

    @property
    def leads(self):
        return self.elector.is_leader

    def stop(self):
        if self.task is not None:
            self.task.cancel()


@pytest.fixture
async def components(clock):
    """Two components and a server that holds elections."""
    async with InProcessAPIServer(clock=clock, with_bootstrap_controller=True) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock)
        pair = [
            Component(client, "newer", emulation_version="1.36.0"),
            Component(client, "older", emulation_version="1.35.0"),
        ]
        yield pair
        for component in pair:
            component.stop()
        await clock.advance(10)


async def passing(clock, holds, *, within_seconds=120):
    """Let time pass, in steps that leave threads their turn, until it holds."""
    for _ in range(round(within_seconds / 0.05)):
        if holds():
            return
        await asyncio.to_thread(int)
        await clock.advance(0.05)
    raise AssertionError("it did not come about")


async def test_holder_yields_to_a_better_candidate_within_a_second(components, clock):
    newer, older = components
    newer.start()
    await passing(clock, lambda: newer.leads)
    older.start()
    await passing(clock, lambda: older.leads)
    assert newer.ends == [TermEnd.YIELDED]
    assert not newer.leads
    (_, ended), (_, began) = newer.log[-1], older.log[0]
    assert 0 <= began - ended < 1


async def test_other_candidate_is_elected_when_the_holder_leaves(components, clock):
    newer, older = components
    older.start()
    await passing(clock, lambda: older.leads)
    newer.start()
    await clock.advance(20)
    assert older.leads
    older.stop()
    stopped_at = clock.monotonic()
    await passing(clock, lambda: newer.leads)
    assert clock.monotonic() - stopped_at < 1


class ClientGoComponent:
    """A component with client-go's protocol: it polls its Lease every other second, and never deletes its candidate."""

    def __init__(self, client, name) -> None:
        self._client, self.clock, self.name = client, client.clock, name
        self.candidate = LeaseCandidate(
            client, Candidacy("default", name, "lead", "1.36.0", "1.36.0"), dice=Random(name)
        )
        self.leads = False
        self.tasks = []

    def start(self):
        self.tasks = [asyncio.create_task(self.candidate._maintain()), asyncio.create_task(self.candidate._watch())]
        self.tasks.append(asyncio.create_task(self._poll()))

    async def _poll(self):
        while True:
            lease = await self._read()
            if lease is not None:
                spec, held = lease["spec"], self._holds(lease["spec"])
                if held and not (self.leads and spec.get("preferredHolder")):
                    spec |= {"renewTime": format_micro_time(self.clock.now()), "leaseDurationSeconds": 15}
                    await self._client.update(lease)
                self.leads = held
            await self.clock.sleep(2)

    async def _read(self):
        try:
            return await self._client.get(LEASES, "lead", namespace="default")
        except NotFound:
            return None

    def _holds(self, spec):
        expires = parse_time(spec["renewTime"]) + timedelta(seconds=spec["leaseDurationSeconds"])
        return spec.get("holderIdentity") == self.name and self.clock.now() < expires

    def crash(self):
        self.leads = False
        for task in self.tasks:
            task.cancel()

    def stop(self):
        """Release the Lease, as with client-go's ``ReleaseOnCancel``, and leave the LeaseCandidate behind."""
        held = self.leads
        self.crash()
        if held:
            self.tasks = [asyncio.create_task(self._release())]

    async def _release(self):
        lease = await self._read()
        lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
        lease["spec"]["renewTime"] = format_micro_time(self.clock.now())
        await self._client.update(lease)


async def assigned_to(client, clock, names):
    """Return the seconds until the Lease names one of ``names``; an elector of client-go observes that at its next poll."""
    started_at = clock.monotonic()
    while clock.monotonic() < started_at + 60:
        lease = await client.get(LEASES, "lead", namespace="default")
        if lease["spec"].get("holderIdentity") in names:
            return clock.monotonic() - started_at
        await asyncio.to_thread(int)
        await clock.advance(0.05)
    raise AssertionError("no candidate was elected")


@pytest.fixture
async def election(clock):
    """A client of a server that coordinates elections."""
    async with InProcessAPIServer(
        store=MemoryStore(clock=clock), clock=clock, with_bootstrap_controller=True
    ) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.mark.parametrize("kind", ["ours", "client-go"])
async def test_planned_hand_over_takes_less_than_a_second(kind, election, clock):
    """Hand over at random moments among three replicas that are replaced one by one."""
    dice, count, seconds = Random(17), 0, []

    def start():
        nonlocal count
        count += 1
        name = f"replica-{count}"
        if kind == "ours":
            component = Component(election, name, emulation_version="1.36.0")
        else:
            component = ClientGoComponent(election, name)
        component.start()
        return component

    replicas = [start() for _ in range(3)]
    for _ in range(60):
        await passing(clock, lambda: any(one.leads for one in replicas))
        await clock.advance(dice.uniform(0, 20))
        leader = next(one for one in replicas if one.leads)
        replicas.remove(leader)
        leader.stop()
        names = {one.name for one in replicas}
        seconds.append(await assigned_to(election, clock, names))
        if kind == "ours":
            await passing(clock, lambda: any(one.leads for one in replicas))
        replicas.append(start())
    for one in replicas:
        one.stop()
    await clock.advance(10)
    assert sorted(seconds)[int(len(seconds) * 0.98)] < 1


@pytest.mark.parametrize("seed", range(5))
async def test_hand_over_after_a_crash_takes_the_lease_duration_and_a_second(seed, election, clock):
    """The dead candidate would be elected again if it answered."""
    dice = Random(seed)
    first, second = (ClientGoComponent(election, name) for name in ("a", "b"))
    first.start()
    await passing(clock, lambda: first.leads)
    second.start()
    await clock.advance(dice.uniform(10, 30))
    first.crash()
    assert await assigned_to(election, clock, {"b"}) <= 15 + 1
    second.stop()
    await clock.advance(10)
