"""Collections of garbage: which run when, what they visit, and that garbage is bounded and given back."""

import asyncio
import gc
import random

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.controlplane import cyclic_garbage
from steersman.controlplane.cyclic_garbage import (
    BUSY_MAX,
    COLLECT_SECONDS,
    GROWTH_BLOCKS_MIN,
    GROWTH_DIVISOR,
    IDLE_SHARE,
    IDLE_WHOLE_SECONDS,
    PROCESS_HEAP,
    RECENT_MAX,
    WHOLE_SECONDS,
    YOUNG_MAX,
    OldGeneration,
    limit_collections,
)

MINUTE = int(60 / COLLECT_SECONDS)


class FakeHeap:
    """Live objects and cyclic garbage in blocks, and the numbers of collections."""

    def __init__(self, live):
        self.live = live
        self.recent_garbage = 0
        self.frozen_garbage = 0
        self.cpu_seconds = 0.0
        self.recent = 0
        self.whole = 0
        self.is_busy = False
        self.largest_garbage = 0

    @property
    def blocks(self):
        garbage = self.recent_garbage + self.frozen_garbage
        self.largest_garbage = max(self.largest_garbage, garbage)
        return self.live + garbage

    def collect_recent(self):
        self.recent += 1
        self.recent_garbage = 0

    def collect_whole(self):
        self.whole += 1
        self.recent_garbage = self.frozen_garbage = 0


@pytest.fixture
async def running():
    """A heap of a million blocks, and a function that lets intervals pass with a load before each."""
    clock, heap = FakeClock(), FakeHeap(1_000_000)
    task = asyncio.create_task(OldGeneration(clock, is_busy=lambda: heap.is_busy, heap=heap).run())

    async def intervals(number, load=lambda: None, *, cpu_share=1.0):
        for _ in range(number):
            load()
            heap.cpu_seconds += cpu_share * COLLECT_SECONDS
            await clock.advance(COLLECT_SECONDS)

    yield heap, intervals
    task.cancel()


async def test_recent_objects_are_collected_in_each_interval(running):
    heap, intervals = running
    await intervals(3)
    assert (heap.recent, heap.whole) == (3, 0)


async def test_nothing_is_collected_while_a_large_request_runs(running):
    heap, intervals = running
    heap.is_busy = True
    await intervals(BUSY_MAX)
    assert heap.recent == 0
    heap.is_busy = False
    await intervals(1)
    assert heap.recent == 1


async def test_recent_objects_are_collected_under_constant_load(running):
    heap, intervals = running
    heap.is_busy = True
    await intervals(BUSY_MAX + 1)
    assert heap.recent == 1


async def test_whole_collection_when_idle_and_old(running):
    heap, intervals = running
    await intervals(int(IDLE_WHOLE_SECONDS / COLLECT_SECONDS) - 1, cpu_share=IDLE_SHARE / 2)
    assert heap.whole == 0
    await intervals(1, cpu_share=IDLE_SHARE / 2)
    assert heap.whole == 1
    await intervals(MINUTE, cpu_share=IDLE_SHARE / 2)
    assert heap.whole == 1


async def test_whole_collection_when_never_idle(running):
    heap, intervals = running
    await intervals(int(WHOLE_SECONDS / COLLECT_SECONDS) - 1)
    assert heap.whole == 0
    await intervals(1)
    assert heap.whole == 1


async def test_whole_collection_when_garbage_can_have_grown(running):
    heap, intervals = running
    heap.frozen_garbage = heap.live // GROWTH_DIVISOR
    await intervals(1)
    assert heap.whole == 0
    heap.frozen_garbage += 1
    await intervals(1)
    assert (heap.whole, heap.frozen_garbage) == (1, 0)


async def test_growth_is_measured_from_the_smallest_heap(running):
    heap, intervals = running
    heap.live //= 2
    await intervals(1)
    heap.live += GROWTH_BLOCKS_MIN + 1
    assert heap.live < 1_000_000
    await intervals(1)
    assert heap.whole == 1


async def test_whole_collections_are_rare_while_live_objects_grow(running):
    heap, intervals = running

    def load():
        heap.live += 50_000

    await intervals(20 * MINUTE, load)
    assert heap.live == 7_000_000
    assert heap.whole <= 9  # as often as a quarter fits: 1.25 ** 9 > 7


async def test_memory_levels_off_over_20_minutes_of_churn(running):
    heap, intervals = running
    dice = random.Random(7)
    sizes = []

    def load():
        heap.live = 1_000_000 + dice.randrange(20_000)
        heap.recent_garbage += dice.randrange(20_000)
        heap.frozen_garbage += dice.randrange(5_000)
        sizes.append(heap.blocks)

    await intervals(20 * MINUTE, load)
    bound = heap.live // GROWTH_DIVISOR + 50_000
    assert GROWTH_BLOCKS_MIN < heap.largest_garbage < bound
    assert heap.whole == pytest.approx(20 * MINUTE * 2_500 / bound, abs=1)
    assert max(sizes[10 * MINUTE :]) < max(sizes[: 10 * MINUTE]) * 1.1


@pytest.fixture
def collector():
    """The collector's settings, restored afterwards."""
    threshold, was_enabled, callbacks = gc.get_threshold(), gc.isenabled(), list(gc.callbacks)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks[:] = callbacks
    gc.unfreeze()
    if not was_enabled:
        gc.disable()


@pytest.mark.usefixtures("collector")
def test_limit_collections_leaves_the_old_generation_alone():
    limit_collections()
    before = gc.get_stats()
    lists = [[] for _ in range(YOUNG_MAX * 150)]
    after = gc.get_stats()
    assert after[0]["collections"] > before[0]["collections"]
    assert after[2]["collections"] == before[2]["collections"]
    assert len(lists) == YOUNG_MAX * 150


@pytest.mark.usefixtures("collector")
def test_limit_collections_registers_one_hook():
    limit_collections()
    limit_collections()
    assert gc.callbacks.count(cyclic_garbage._on_collection) == 1
    gc.collect(0)


@pytest.mark.usefixtures("collector")
def test_no_collection_visits_many_objects_however_many_are_stored():
    limit_collections()
    visited = []

    def count(phase, info):
        if phase == "start":
            generations = range(info["generation"] + 1)
            visited.append(sum(len(gc.get_objects(generation=number)) for number in generations))

    gc.callbacks.append(count)
    stored = []
    for _ in range(10):
        stored += [[] for _ in range(YOUNG_MAX * 20)]
        PROCESS_HEAP.collect_recent()
    assert len(stored) == YOUNG_MAX * 200
    assert max(visited) < 3 * RECENT_MAX + 2 * YOUNG_MAX


class Node:
    """Object that a test creates a reference cycle of."""


def cycles():
    return sum(isinstance(item, Node) for item in gc.get_objects())


@pytest.mark.usefixtures("collector")
def test_garbage_of_frozen_objects_waits_for_a_whole_collection():
    limit_collections()
    node = Node()
    node.itself = node
    PROCESS_HEAP.collect_recent()
    del node
    PROCESS_HEAP.collect_recent()
    gc.unfreeze()
    assert cycles() == 1
    PROCESS_HEAP.collect_whole()
    gc.unfreeze()
    assert cycles() == 0


@pytest.mark.usefixtures("collector")
def test_recent_collection_frees_cycles_before_it_freezes():
    limit_collections()
    node = Node()
    node.itself = node
    del node
    PROCESS_HEAP.collect_recent()
    gc.unfreeze()
    assert cycles() == 0
