"""Collections of the old generation run between large requests, and collections let other threads run."""

import asyncio
import gc

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.controlplane import cyclic_garbage
from steersman.controlplane.cyclic_garbage import BUSY_MAX, COLLECT_SECONDS, YOUNG_MAX, OldGeneration, limit_collections


class Process:
    """Whether a large request is at work, and how often all generations were collected."""

    def __init__(self):
        self.is_busy = False
        self.collections = 0

    def collect(self):
        self.collections += 1


@pytest.fixture
async def running():
    clock, process = FakeClock(), Process()
    task = asyncio.create_task(OldGeneration(clock, is_busy=lambda: process.is_busy, collect=process.collect).run())

    async def intervals(number):
        for _ in range(number):
            await clock.advance(COLLECT_SECONDS)

    yield process, intervals
    task.cancel()


async def test_old_generation_is_collected_in_each_interval_when_idle(running):
    process, intervals = running
    await intervals(3)
    assert process.collections == 3


async def test_old_generation_is_not_collected_while_a_large_request_is_at_work(running):
    process, intervals = running
    process.is_busy = True
    await intervals(BUSY_MAX)
    assert process.collections == 0
    process.is_busy = False
    await intervals(1)
    assert process.collections == 1


async def test_old_generation_is_collected_under_constant_load(running):
    process, intervals = running
    process.is_busy = True
    await intervals(BUSY_MAX + 1)
    assert process.collections == 1


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
    assert gc.callbacks.count(cyclic_garbage._switch) == 1
    gc.collect(0)
