"""Callbacks, and handlers with bounded queues."""

import asyncio

import pytest
from tests.unit.client.scripted import config_map

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.listeners import Callback, Handler, Overflow

A1, A2, A3 = (config_map("a", n) for n in (1, 2, 3))
B1, C1 = config_map("b", 1), config_map("c", 1)


@pytest.fixture
async def supervisor():
    owner = Supervisor("test")
    yield owner
    await owner.close()


class Slow:
    """Handler that takes a second per change."""

    def __init__(self, supervisor, **options):
        self.clock = FakeClock()
        self.changes = []
        self.handler = Handler(self.hear, **options)
        supervisor.start("handler", self.handler.run())

    async def hear(self, change):
        await self.clock.sleep(1)
        self.changes.append(change)


async def offer(slow, *changes):
    """Return a started task that offers the changes."""

    async def offer():
        for change in changes:
            await slow.handler.offer(change)

    task = asyncio.ensure_future(offer())
    await slow.clock.advance(0)
    return task


async def test_callback_is_called_synchronously():
    received = []
    Callback(received.append).notify(Added(A1))
    assert received == [Added(A1)]


async def test_callback_exception_is_logged(caplog):
    def fail(change):
        raise RuntimeError("broken")

    Callback(fail).notify(Added(A1))
    assert "a callback failed on default/a" in caplog.text


async def test_handler_receives_initial_objects_first_then_changes_in_order(supervisor):
    slow = Slow(supervisor, initial=[A1, B1])
    await offer(slow, Updated(A1, A2))
    await slow.clock.advance(10)
    assert slow.changes == [Added(A1, is_initial=True), Added(B1, is_initial=True), Updated(A1, A2)]


async def test_handler_exception_is_logged(supervisor, caplog):
    received = []

    async def hear(change):
        received.append(change)
        raise RuntimeError("broken")

    handler = Handler(hear)
    supervisor.start("handler", handler.run())
    await handler.offer(Added(A1))
    await handler.offer(Added(B1))
    await handler.drained()
    assert received == [Added(A1), Added(B1)]
    assert "a handler failed on default/a" in caplog.text


async def test_offer_waits_when_the_queue_is_full_with_wait(supervisor):
    slow = Slow(supervisor, capacity=1)
    task = await offer(slow, Added(A1), Added(B1), Added(C1))
    assert (task.done(), slow.handler.queued) == (False, 1)
    await slow.clock.advance(1)
    assert task.done()
    await slow.clock.advance(5)
    assert slow.changes == [Added(A1), Added(B1), Added(C1)]


async def test_offer_merges_changes_of_an_object_with_coalesce(supervisor):
    slow = Slow(supervisor, capacity=1, overflow=Overflow.COALESCE)
    changes = [Added(B1), Added(C1), Added(A1), Updated(A1, A2), Updated(A2, A3), Deleted(B1), Added(B1)]
    task = await offer(slow, *changes)
    assert task.done()
    await slow.clock.advance(10)
    assert slow.changes == [Added(B1), Added(C1), Added(A3), Deleted(B1), Added(B1)]


async def test_offer_drops_addition_and_deletion_with_coalesce(supervisor):
    slow = Slow(supervisor, capacity=1, overflow=Overflow.COALESCE)
    await offer(slow, Added(B1), Added(C1), Added(A1), Deleted(A1))
    await slow.clock.advance(10)
    assert slow.changes == [Added(B1), Added(C1)]
    assert slow.handler.queued == 0


async def test_offer_queues_at_most_two_changes_per_object_with_coalesce(supervisor):
    slow = Slow(supervisor, capacity=1, overflow=Overflow.COALESCE)
    await offer(slow, Added(B1), Added(C1), *[Deleted(A1), Added(A2), Updated(A2, A3)] * 5)
    assert slow.handler.queued <= 3


async def test_drained_waits_until_all_changes_are_processed(supervisor):
    slow = Slow(supervisor)
    await offer(slow, Added(A1), Added(B1))
    task = asyncio.ensure_future(slow.handler.drained())
    await slow.clock.advance(1)
    assert not task.done()
    await slow.clock.advance(1)
    assert task.done()


def test_handler_rejects_zero_capacity():
    with pytest.raises(ValueError, match="needs room for one change"):
        Handler(None, capacity=0)
