"""Random faults between an informer and the server: the cache converges to the server's state."""

from __future__ import annotations

import random

import pytest
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import ObjectMeta
from tests.conformance.informer.faults import Faults, FaultyTransport

from steersman.asynckit.clock import FakeClock
from steersman.client import Added, Client, Deleted, InformerFactory, Overflow, ReflectorOptions, Updated
from steersman.client.objects import key_of
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer

SEEDS = range(8)
STEPS = 60
#: Minutes without a connection, while the server drops history older than five minutes.
OUTAGE_STEPS = 10
NAMES = [f"name-{n}" for n in range(8)]


class Mirror:
    """State of a listener; raises for an impossible sequence of events."""

    def __init__(self):
        self.objects = {}
        self.faults = []

    def handle(self, change):
        key = key_of(change.latest)
        match change:
            case Added(new):
                self._expect(key not in self.objects, change)
                self.objects[key] = new
            case Updated(old, new):
                self._expect(self.objects.get(key) == old, change)
                self.objects[key] = new
            case Deleted():
                self._expect(key in self.objects, change)
                self.objects.pop(key, None)

    def _expect(self, is_consistent, change):
        self.faults += [] if is_consistent else [change]


class Writer:
    """Random writes over a connection without faults."""

    def __init__(self, client, dice):
        self._client = client
        self._dice = dice
        self._objects = {}
        self._count = 0

    async def write(self):
        name = self._dice.choice(NAMES)
        existing = self._objects.get(name)
        self._count += 1
        data = {"count": str(self._count)}
        if existing is None:
            config_map = ConfigMap(metadata=ObjectMeta(name=name, labels={"app": "test"}), data=data)
            self._objects[name] = await self._client.create(config_map)
        elif self._dice.random() < 0.4:
            await self._client.delete_object(self._objects.pop(name))
        else:
            existing.data = data
            existing.metadata.labels = {"app": self._dice.choice(["test", "other"])}
            self._objects[name] = await self._client.update(existing)


async def run(options, selector, *, clock, dice, server):
    direct = Client(LoopbackTransport(server.core.client), clock=clock)
    faults = Faults(dice)
    faulty = Client(FaultyTransport(LoopbackTransport(server.core.client), faults, clock=clock), clock=clock)
    mirror, slow = Mirror(), Mirror()
    writer = Writer(direct, dice)
    informers = InformerFactory(faulty, dice=dice, options=options, detect_mutations=True)
    informer = informers.informer(ConfigMap, namespace="default", label_selector=selector)
    informer.add_callback(mirror.handle)

    async def handle_slowly(change):
        await clock.sleep(dice.uniform(0, 2))
        slow.handle(change)

    handler = informer.add_handler(handle_slowly, capacity=4, overflow=dice.choice(list(Overflow)))
    async with informers:
        for _ in range(STEPS):
            for _ in range(dice.randrange(4)):
                await writer.write()
            await clock.advance(dice.choice([0.01, 0.1, 1, 3, 30]))
        faults.cut_off()
        for _ in range(OUTAGE_STEPS):
            await writer.write()
            await clock.advance(60)
        faults.stop()
        await clock.advance(400)
        last = await direct.create(ConfigMap(metadata=ObjectMeta(name="last", labels={"app": "test"})))
        await clock.advance(60)
        await informer.wait_seen(last, timeout_seconds=0)
        await handler.drained()
        stored = {
            key_of(obj): obj for obj in await direct.list(ConfigMap, namespace="default", label_selector=selector)
        }
        cached = {key_of(obj): obj for obj in informer.lister}
    return stored, cached, mirror, slow, faults


@pytest.mark.parametrize("selector", ["", "app=test"], ids=["all", "some"])
@pytest.mark.parametrize("streaming_list", [True, False], ids=["streaming list", "list"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_informer_cache_converges_to_server_state_after_random_faults(seed, streaming_list, selector):
    """Apply cuts, stalls, replays, rejections and delays in random order, with both overflow policies."""
    clock, dice = FakeClock(), random.Random(seed)
    options = ReflectorOptions(streaming_list=streaming_list, page_size=3, idle_seconds=20)
    async with InProcessAPIServer(clock=clock) as server:
        stored, cached, mirror, slow, faults = await run(options, selector, clock=clock, dice=dice, server=server)
    assert cached == stored
    assert mirror.objects == stored
    assert slow.objects == stored
    assert (mirror.faults, slow.faults) == ([], [])
    assert faults.seen.total() >= 10
