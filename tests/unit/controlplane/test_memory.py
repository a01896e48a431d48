"""Free memory goes back to the operating system."""

import asyncio
import ctypes

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane import memory
from steersman.controlplane.memory import (
    BUSY_MAX,
    CHECK_SECONDS,
    CHECKS_MAX,
    GROWTH_BYTES,
    MemoryTrimmer,
    process_trimmer,
)


class Process:
    """Memory that a trim takes half of, and how often that was asked for."""

    def __init__(self):
        self.resident = 100 << 20
        self.trims = 0
        self.is_busy = False

    def trim(self):
        self.trims += 1
        self.resident //= 2


@pytest.fixture
async def running():
    clock, process = FakeClock(), Process()
    trimmer = MemoryTrimmer(
        clock, resident_bytes=lambda: process.resident, trim=process.trim, is_busy=lambda: process.is_busy
    )
    task = asyncio.create_task(trimmer.run())

    async def checks(number):
        for _ in range(number):
            await clock.advance(CHECK_SECONDS)
            async with asyncio.timeout(HANG_SECONDS):
                while not clock.waiting:  # noqa: ASYNC110 — the trim runs in a thread
                    await asyncio.sleep(0.001)  # noqa: TID251

    yield process, checks
    task.cancel()


async def test_memory_that_has_grown_is_trimmed(running):
    process, checks = running
    process.resident += GROWTH_BYTES
    await checks(1)
    assert process.trims == 1


async def test_memory_that_has_hardly_grown_is_not_trimmed(running):
    process, checks = running
    process.resident += GROWTH_BYTES - 1
    await checks(CHECKS_MAX - 1)
    assert process.trims == 0


async def test_growth_counts_from_the_size_after_the_last_trim(running):
    process, checks = running
    process.resident += GROWTH_BYTES
    await checks(1)
    process.resident += GROWTH_BYTES
    await checks(1)
    assert process.trims == 2


async def test_memory_is_trimmed_now_and_then_without_growth(running):
    process, checks = running
    await checks(CHECKS_MAX)
    assert process.trims == 1


async def test_memory_is_not_trimmed_while_a_large_request_runs(running):
    process, checks = running
    process.is_busy = True
    process.resident += GROWTH_BYTES
    await checks(BUSY_MAX - 1)
    assert process.trims == 0
    await checks(1)
    assert process.trims == 1


def test_trimmer_is_none_without_malloc_trim(monkeypatch):
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    assert process_trimmer(RealClock()) is None


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="not glibc")
def test_trim_returns_freed_memory_to_the_operating_system():
    blocks = [bytes(3000 + number % 7) for number in range(30_000)]
    retained = blocks[::20]
    del blocks
    before = memory._resident_bytes()
    trimmer = process_trimmer(RealClock())
    assert trimmer is not None
    trimmer._trim()
    assert memory._resident_bytes() < before - (20 << 20)
    assert len(retained) == 1500
