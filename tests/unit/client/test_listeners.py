"""Who hears what, when, and what happens to those who are slow."""

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
    """Each change takes a second."""

    def __init__(self, supervisor, **options):
        self.clock = FakeClock()
        self.heard = []
        self.handler = Handler(self.hear, **options)
        supervisor.start("handler", self.handler.run())

    async def hear(self, change):
        await self.clock.sleep(1)
        self.heard.append(change)


async def offered(slow, *changes):
    """A task that offers them; started."""

    async def offer():
        for change in changes:
            await slow.handler.offer(change)

    task = asyncio.ensure_future(offer())
    await slow.clock.advance(0)
    return task


async def test_a_callback_is_called_at_once():
    heard = []
    await Callback(heard.append).offer(Added(A1))
    assert heard == [Added(A1)]


async def test_a_callback_that_fails_stops_nobody(caplog):
    def fail(change):
        raise RuntimeError("broken")

    await Callback(fail).offer(Added(A1))
    assert "a callback failed on default/a" in caplog.text


async def test_a_handler_hears_in_order_and_first_of_what_is_there(supervisor):
    slow = Slow(supervisor, initial=[A1, B1])
    await offered(slow, Updated(A1, A2))
    await slow.clock.advance(10)
    assert slow.heard == [Added(A1, is_initial=True), Added(B1, is_initial=True), Updated(A1, A2)]


async def test_a_handler_that_fails_goes_on(supervisor, caplog):
    heard = []

    async def hear(change):
        heard.append(change)
        raise RuntimeError("broken")

    handler = Handler(hear)
    supervisor.start("handler", handler.run())
    await handler.offer(Added(A1))
    await handler.offer(Added(B1))
    await handler.drained()
    assert heard == [Added(A1), Added(B1)]
    assert "a handler failed on default/a" in caplog.text


async def test_with_wait_a_full_handler_holds_back_who_offers(supervisor):
    slow = Slow(supervisor, capacity=1)
    task = await offered(slow, Added(A1), Added(B1), Added(C1))
    assert (task.done(), slow.handler.waiting) == (False, 1)
    await slow.clock.advance(1)
    assert task.done()
    await slow.clock.advance(5)
    assert slow.heard == [Added(A1), Added(B1), Added(C1)]


async def test_with_coalesce_changes_of_one_object_become_one(supervisor):
    slow = Slow(supervisor, capacity=1, overflow=Overflow.COALESCE)
    changes = [Added(B1), Added(C1), Added(A1), Updated(A1, A2), Updated(A2, A3), Deleted(B1), Added(B1)]
    task = await offered(slow, *changes)
    assert task.done()
    await slow.clock.advance(10)
    assert slow.heard == [Added(B1), Added(C1), Added(A3), Deleted(B1), Added(B1)]


async def test_with_coalesce_what_came_and_went_is_never_heard_of(supervisor):
    slow = Slow(supervisor, capacity=1, overflow=Overflow.COALESCE)
    await offered(slow, Added(B1), Added(C1), Added(A1), Deleted(A1))
    await slow.clock.advance(10)
    assert slow.heard == [Added(B1), Added(C1)]
    assert slow.handler.waiting == 0


async def test_with_coalesce_at_most_two_changes_of_an_object_wait(supervisor):
    slow = Slow(supervisor, capacity=1, overflow=Overflow.COALESCE)
    await offered(slow, Added(B1), Added(C1), *[Deleted(A1), Added(A2), Updated(A2, A3)] * 5)
    assert slow.handler.waiting <= 3


async def test_drained_waits_until_all_was_heard(supervisor):
    slow = Slow(supervisor)
    await offered(slow, Added(A1), Added(B1))
    task = asyncio.ensure_future(slow.handler.drained())
    await slow.clock.advance(1)
    assert not task.done()
    await slow.clock.advance(1)
    assert task.done()


def test_a_handler_needs_room():
    with pytest.raises(ValueError, match="needs room for one change"):
        Handler(None, capacity=0)
