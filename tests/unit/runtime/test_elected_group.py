"""A group of runnables behind a lock of its own."""

from __future__ import annotations

import asyncio

import pytest

from steersman.client import Client
from steersman.client.leaderelection import TermEnd
from steersman.runtime.elected_group import ElectedGroup, add_elected_group
from steersman.runtime.health import Unhealthy
from steersman.runtime.manager import LeadershipLost, Manager


class Elector:
    """Acquires and loses its lock when the test says so."""

    name = "lock"
    is_leader = False

    def __init__(self) -> None:
        self.contending = asyncio.Event()
        self.acquired = asyncio.Event()
        self.leading = asyncio.Event()
        self.lost = asyncio.Event()
        self.reason = None

    def unhealthy_reason(self):
        return self.reason

    async def run(self, work):
        self.contending.set()
        await self.acquired.wait()
        self.leading.set()
        job, lost = asyncio.create_task(work()), asyncio.create_task(self.lost.wait())
        try:
            await asyncio.wait([job, lost], return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
            if not job.done():
                job.cancel()
            await asyncio.wait([job, lost])
        if job.cancelled():
            return TermEnd.LOST
        job.result()
        return TermEnd.WORK_ENDED


class Transport:
    """Answers no request."""

    host = "nowhere"


class Worker:
    name = "worker"

    def __init__(self, *, is_ready=True, failure=None):
        self.is_ready, self.failure = is_ready, failure
        self.started, self.stopped = asyncio.Event(), asyncio.Event()

    def stop(self):
        self.stopped.set()

    async def run(self):
        self.started.set()
        if self.failure is not None:
            raise self.failure
        await self.stopped.wait()


@pytest.fixture
def elector():
    return Elector()


async def test_group_runs_its_runnables_while_it_holds_the_lock(elector):
    group = ElectedGroup(elector)
    worker = group.add(Worker(is_ready=False))
    running = asyncio.create_task(group.run())
    await elector.contending.wait()
    assert group.is_ready
    assert not worker.started.is_set()
    elector.acquired.set()
    await worker.started.wait()
    assert not group.is_ready
    group.stop()
    await running
    assert worker.stopped.is_set()


async def test_group_that_waits_for_the_lock_stops_at_once(elector):
    group = ElectedGroup(elector)
    running = asyncio.create_task(group.run())
    await elector.contending.wait()
    group.stop()
    await running


async def test_group_without_runnables_holds_the_lock_until_it_is_stopped(elector):
    group = ElectedGroup(elector)
    running = asyncio.create_task(group.run())
    elector.acquired.set()
    await elector.leading.wait()
    assert not running.done()
    group.stop()
    await running


async def test_loss_of_the_lock_is_raised(elector):
    group = ElectedGroup(elector, title="migration ")
    worker = group.add(Worker())
    running = asyncio.create_task(group.run())
    elector.acquired.set()
    await worker.started.wait()
    elector.lost.set()
    with pytest.raises(LeadershipLost, match="migration leaderelection lost"):
        await running


def test_check_reports_a_lock_that_expired(elector):
    group = ElectedGroup(elector)
    group.check()
    elector.reason = "failed election to renew leadership on lease lock"
    with pytest.raises(Unhealthy, match="failed election"):
        group.check()


async def test_failure_of_a_runnable_is_raised(elector):
    group = ElectedGroup(elector)
    group.add(Worker(failure=RuntimeError("broken")))
    elector.acquired.set()
    with pytest.raises(ExceptionGroup) as raised:
        await group.run()
    assert raised.group_contains(RuntimeError, match="broken")


async def test_add_elected_group_adds_health_checks_to_the_manager(elector):
    manager = Manager(Client(Transport()))
    add_elected_group(manager, elector, check="leaderElection-extra")
    assert (await manager.healthz.page({})).status == 200
    elector.reason = "failed election to renew leadership on lease lock"
    for health in (manager.healthz, manager.livez):
        page = await health.page({})
        assert page.status == 500
        assert b"[-]leaderElection-extra failed" in page.body
