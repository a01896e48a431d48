"""Periodic probes, their thresholds and events."""

import asyncio

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.nodes.processes.prober import Prober


class Container:
    """A container whose probe command has the given results; an ``OSError`` is raised."""

    def __init__(self, clock, results):
        self.clock = clock
        self.results = list(results)
        self.times = []
        self.events = []

    async def execute(self, command):
        self.times.append(self.clock.monotonic() - self.begin)
        result = self.results.pop(0) if self.results else 0
        if isinstance(result, OSError):
            raise result
        return result, b"out"

    def event(self, kind, reason, message):
        self.events.append((kind, reason, message))

    def prober(self, **probes):
        self.begin = self.clock.monotonic()
        spec = {name: {"exec": {"command": ["a"]}, **probe} for name, probe in probes.items()}
        return Prober(spec, execute=self.execute, events=self, clock=self.clock)


@pytest.fixture
def clock():
    return FakeClock()


async def test_startup_probe_passes_with_its_first_success(clock):
    container = Container(clock, [1, 1, 0])
    waiting = asyncio.create_task(
        container.prober(startupProbe={"periodSeconds": 5, "initialDelaySeconds": 3}).wait_until_started()
    )
    await clock.advance(20)
    assert await waiting is True
    assert container.times == [3, 8, 13]
    assert container.events == [("Warning", "Unhealthy", "Startup probe failed: out")] * 2


async def test_startup_probe_fails_after_its_threshold(clock):
    container = Container(clock, [1, 1, 1])
    waiting = asyncio.create_task(container.prober(startupProbe={"failureThreshold": 2}).wait_until_started())
    await clock.advance(10)
    assert await waiting is False
    assert container.times == [0, 10]


async def test_container_without_a_startup_probe_is_started(clock):
    assert await Container(clock, []).prober().wait_until_started() is True


async def test_readiness_follows_its_thresholds(clock):
    container, changes = Container(clock, [0, 0, 1, 1, 0, 0]), []
    probe = {"successThreshold": 2, "failureThreshold": 2}
    prober = container.prober(readinessProbe=probe)
    watching = asyncio.create_task(prober.watch_readiness(lambda ready: changes.append((clock.monotonic(), ready))))
    await clock.advance(50)
    watching.cancel()
    assert [(time - container.begin, ready) for time, ready in changes] == [(10, True), (30, False), (50, True)]


async def test_liveness_ends_after_consecutive_failures(clock):
    container = Container(clock, [1, 1, 0, 1, 1, 1])
    waiting = asyncio.create_task(container.prober(livenessProbe={"periodSeconds": 1}).wait_until_dead())
    await clock.advance(10)
    await waiting
    assert container.times == [0, 1, 2, 3, 4, 5]


async def test_initial_delay_counts_from_the_start_of_the_container(clock):
    container = Container(clock, [0])
    prober = container.prober(readinessProbe={"initialDelaySeconds": 10})
    await clock.advance(8)  # the startup probe took its time
    watching = asyncio.create_task(prober.watch_readiness(lambda _: None))
    await clock.advance(2)
    watching.cancel()
    assert container.times == [10]


async def test_probe_that_cannot_run_does_not_count(clock):
    broken = OSError(2, "No such file or directory")
    container = Container(clock, [broken, broken, broken, broken, 1])
    waiting = asyncio.create_task(container.prober(livenessProbe={"failureThreshold": 1}).wait_until_dead())
    await clock.advance(9)
    assert not waiting.done()
    text = (
        "Liveness probe errored and resulted in unknown state: failed to exec in container: no such file or directory"
    )
    assert container.events == [("Warning", "Unhealthy", text)]
    await clock.advance(1)
    await waiting
    assert container.times == [0, 0, 0, 10, 10]
