from __future__ import annotations

import asyncio

from steersman.asynckit.clock import FakeClock
from steersman.storage.revision_waiters import RevisionWaiters


async def test_waiters_wake_in_order_of_their_revisions():
    clock, woken = FakeClock(), []
    waiters = RevisionWaiters(clock)

    async def wait(revision):
        assert await waiters.wait(revision, seconds=10)
        woken.append(revision)

    tasks = [asyncio.ensure_future(wait(revision)) for revision in (7, 3, 5)]
    await clock.advance(0)
    waiters.resolve(4)
    await clock.advance(0)
    assert woken == [3]
    waiters.resolve(7)
    await asyncio.gather(*tasks)
    assert sorted(woken) == [3, 5, 7]


async def test_waiter_returns_after_its_time_and_leaves_no_entry():
    clock = FakeClock()
    waiters = RevisionWaiters(clock)
    task = asyncio.ensure_future(waiters.wait(9, seconds=3))
    await clock.advance(3)
    assert not await task
    waiters.resolve(0)
    assert waiters._heap == []


async def test_cancelled_waiter_is_passed_over():
    clock = FakeClock()
    waiters = RevisionWaiters(clock)
    task = asyncio.ensure_future(waiters.wait(1, seconds=3))
    await clock.advance(0)
    task.cancel()
    await asyncio.wait([task])
    waiters.resolve_all()
    assert waiters._heap == []
