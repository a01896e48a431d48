import asyncio
import random
from datetime import UTC, datetime

import pytest
from tests.unit.client.leaderelection import memory_lock as memory

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import Forbidden, RequestFailed
from steersman.client.leaderelection import LeaderElector, Record, TermEnd

THEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store():
    return memory.MemoryStore()


class Contender:
    """An elector with work that notes what happens, and ends ``wind_down_seconds`` after it is cancelled."""

    def __init__(self, store, clock, identity="a", *, wind_down_seconds=0.0, watchable=True, **options):
        self.clock, self.wind_down_seconds = clock, wind_down_seconds
        self.lock = memory.MemoryLock(store, identity, watchable=watchable)
        self.log = []
        self.finish = asyncio.Event()
        self.elector = LeaderElector(
            self.lock,
            clock=clock,
            dice=random.Random(identity),
            on_new_leader=lambda leader: self.note(f"leader {leader}"),
            on_stopped_leading=lambda: self.note("stopped"),
            **options,
        )

    def note(self, what):
        self.log.append((what, self.clock.monotonic()))

    @property
    def notes(self):
        return [what for what, _ in self.log]

    async def work(self):
        self.note("started")
        try:
            await self.finish.wait()
        finally:
            await self.clock.sleep(self.wind_down_seconds)
            self.note("work ended")

    def start(self):
        self.task = asyncio.create_task(self.elector.run(self.work))
        return self.task


@pytest.fixture
async def contend(store, clock):
    """Makes started contenders, and ends them."""
    started = []

    def make(identity="a", **options):
        contender = Contender(store, clock, identity, **options)
        contender.start()
        started.append(contender)
        return contender

    yield make
    for contender in started:
        contender.task.cancel()
    await clock.advance(60)


async def at_once():
    """A way without delay."""


async def cut(*_):
    raise RequestFailed("the network is cut")


async def test_the_first_contender_leads_at_once_and_the_lock_says_so(contend, clock, store):
    a = contend()
    await clock.advance(0)
    assert a.notes == ["leader a", "started"]
    assert a.elector.is_leader
    assert store.seen.record == Record("a", 15, THEN, THEN)


async def test_a_leader_renews_without_reading(contend, clock):
    a = contend()
    await clock.advance(0)
    a.lock.calls.clear()
    await clock.advance(7)
    assert a.lock.calls == ["replace"] * 3


async def test_a_renewal_that_meets_a_change_by_others_reads_and_goes_on(contend, clock, store):
    a = contend(watchable=False)
    await clock.advance(1)
    store.edit(lease_duration_seconds=99)
    a.lock.calls.clear()
    await clock.advance(1.5)
    assert a.lock.calls == ["replace", "read", "replace"]
    assert a.elector.is_leader


async def test_others_wait_and_hear_who_leads(contend, clock):
    a = contend("a")
    await clock.advance(1)
    b = contend("b")
    await clock.advance(100)
    assert b.notes == ["leader a"]
    assert a.elector.is_leader
    assert (b.elector.is_leader, b.elector.leader) == (False, "a")


@pytest.mark.parametrize("watchable", [True, False])
async def test_after_a_crash_another_leads_within_the_lease_duration_and_a_retry(contend, clock, watchable):
    a = contend("a")
    await clock.advance(1)
    b = contend("b", watchable=watchable)
    await clock.advance(9)
    a.lock.travel = cut
    last_renewal = 8
    await clock.advance(30)
    led_at = dict(b.log)["started"]
    assert last_renewal + 15 <= led_at <= 10 + 15 + 2 * 2.2
    assert dict(a.log)["stopped"] <= led_at


async def test_a_leader_that_is_cut_off_stops_before_its_lease_can_expire(contend, clock):
    a = contend()
    await clock.advance(5)  # renewed at 4
    a.lock.travel = cut
    await clock.advance(20)
    assert a.task.done()
    assert a.task.result() is TermEnd.LOST
    assert dict(a.log)["work ended"] == 4 + 10


async def test_a_renewal_that_hangs_is_given_up_and_tried_again(contend, clock):
    a = contend()
    await clock.advance(1)
    a.lock.travel = lambda: asyncio.get_running_loop().create_future()
    await clock.advance(2)
    a.lock.travel = at_once
    await clock.advance(30)
    assert a.elector.is_leader


async def test_a_release_is_taken_up_at_once(contend, clock, store):
    a = contend("a")
    await clock.advance(1)
    b = contend("b")
    await clock.advance(5.1)
    a.task.cancel()
    await clock.advance(0.5)
    assert "started" in b.notes
    assert store.seen.record.transitions == 1


async def test_work_has_ended_before_the_lease_is_released(contend, clock, store):
    a = contend(wind_down_seconds=30)
    await clock.advance(1)
    a.task.cancel()
    await clock.advance(29)
    assert store.seen.record.holder == "a"  # and renewed all the while
    assert a.elector.is_leader
    assert not a.task.done()
    await clock.advance(2)
    assert store.seen.record.holder == ""
    assert a.notes == ["leader a", "started", "work ended", "stopped"]
    assert a.task.cancelled()


async def test_cancelling_twice_changes_nothing_of_that(contend, clock, store):
    a = contend(wind_down_seconds=0)
    ended = []

    async def stubborn():
        for _ in range(3):
            try:
                await clock.sleep(100)
            except asyncio.CancelledError:
                ended.append(clock.monotonic())
        await clock.sleep(0)

    a.task.cancel()
    await clock.advance(0)
    b = asyncio.create_task(a.elector.run(stubborn))
    await clock.advance(1)
    b.cancel()
    await clock.advance(1)
    b.cancel()
    await clock.advance(1)
    assert store.seen.record.holder == "a"
    b.cancel()
    await clock.advance(0)
    assert ended == [1, 2, 3]
    assert b.cancelled()
    assert store.seen.record.holder == ""


async def test_when_the_work_ends_the_lease_is_released(contend, clock, store):
    a = contend()
    await clock.advance(1)
    a.finish.set()
    await clock.advance(0)
    assert a.task.done()
    assert a.task.result() is TermEnd.WORK_ENDED
    assert store.seen.record.holder == ""
    assert a.lock.events == ["became leader", "stopped leading"]


async def test_an_error_of_the_work_is_raised_after_the_release(contend, clock, store):
    a = contend()
    a.task.cancel()
    await clock.advance(0)

    async def broken():
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await a.elector.run(broken)
    assert store.seen.record.holder == ""


async def test_an_error_of_the_work_at_a_cancelled_end_is_logged(contend, clock, store, caplog):
    a = contend()
    a.task.cancel()
    await clock.advance(0)

    async def broken_at_the_end():
        try:
            await clock.sleep(1000)
        finally:
            raise RuntimeError("broken at the end")

    task = asyncio.create_task(a.elector.run(broken_at_the_end))
    await clock.advance(1)
    task.cancel()
    await clock.advance(1)
    assert task.cancelled()
    assert "RuntimeError: broken at the end" in caplog.text
    assert store.seen.record.holder == ""


async def test_a_lease_need_not_be_released(contend, clock, store):
    a = contend(release_on_exit=False)
    await clock.advance(1)
    a.task.cancel()
    await clock.advance(1)
    assert store.seen.record.holder == "a"
    assert not a.elector.is_leader


async def test_a_release_that_cannot_be_written_is_given_up(contend, clock, caplog):
    a = contend()
    await clock.advance(1)
    a.lock.travel = cut
    a.task.cancel()
    await clock.advance(3)
    assert a.task.cancelled()
    assert "the lease could not be released: the network is cut" in caplog.text


async def test_a_release_meets_a_change_by_others_and_is_tried_once_more(contend, clock, store):
    a = contend(watchable=False)
    await clock.advance(1)
    store.edit(lease_duration_seconds=99)
    a.task.cancel()
    await clock.advance(0)
    assert store.seen.record.holder == ""


async def test_who_took_the_lease_by_force_leads_and_work_ends_at_once(contend, clock, store):
    a = contend()
    await clock.advance(1)
    store.edit(holder="usurper")
    await clock.advance(0)
    assert a.task.done()
    assert a.task.result() is TermEnd.LOST
    assert store.seen.record.holder == "usurper"
    assert a.notes[-3:] == ["leader usurper", "work ended", "stopped"]


async def test_an_answer_that_comes_after_newer_news_does_not_undo_them(contend, clock, store):
    a = contend(coordinated=True)
    await clock.advance(0)
    store._set(Record("a", 5, None, THEN, strategy="OldestEmulationVersion"))
    await clock.advance(1)
    travels = []

    async def slow_back():
        travels.append(clock.monotonic())
        if len(travels) == 2:  # the answer is on its way back while the watch is quick
            a.lock.travel = at_once
            store.edit(preferred_holder="b")
            await clock.sleep(0.3)

    a.lock.travel = slow_back
    await clock.advance(1.4)
    assert a.task.result() is TermEnd.YIELDED
    assert (store.seen.record.holder, store.seen.record.preferred_holder) == ("", "b")


async def test_a_watch_that_the_server_ends_is_begun_again_at_once(contend, clock, store):
    a = contend("a")
    await clock.advance(1)
    b = Contender(store, clock, "b")
    begun = []

    async def ending():
        begun.append(clock.monotonic())
        yield store.seen
        await clock.sleep(100 if len(begun) < 3 else 0)

    b.lock.watch = ending
    b.start()
    await clock.advance(210)
    assert begun[:3] == [1, 101, 201]
    assert begun[3] > 203  # one that ends as soon as it began is not
    b.task.cancel()
    await clock.advance(1)
    assert a.elector.is_leader


async def test_a_lock_that_is_deleted_is_made_anew_by_its_leader(contend, clock, store):
    a = contend()
    await clock.advance(1)
    store.delete()
    await clock.advance(0.1)
    assert store.seen.record.holder == "a"
    assert a.elector.is_leader


async def test_a_leader_that_slept_too_long_knows_it_does_not_lead(contend, clock):
    a = contend()
    await clock.advance(1)
    clock._elapsed += 11  # the machine was suspended: no timer fired
    assert not a.elector.is_leader


async def test_who_may_not_watch_reads_instead(contend, clock, store, caplog):
    caplog.set_level("INFO")
    a = contend("a")
    await clock.advance(1)
    b = Contender(store, clock, "b")

    async def forbidden():
        raise memory.refused(Forbidden, 403)
        yield

    b.lock.watch = forbidden
    b.start()
    await clock.advance(5)
    a.task.cancel()
    await clock.advance(4.5)
    assert "cannot be watched" in caplog.text
    assert b.elector.is_leader
    b.task.cancel()
    await clock.advance(1)


async def test_a_lost_race_for_a_free_lock_is_no_fault(contend, clock):
    contenders = [contend(name) for name in "abc"]
    await clock.advance(1)
    assert sum(contender.elector.is_leader for contender in contenders) == 1


async def test_a_callback_that_fails_changes_nothing(store, clock, caplog):
    a = Contender(store, clock, "a")
    a.note = lambda what: 1 / 0
    elector, finish = a.elector, asyncio.Event()
    task = asyncio.create_task(elector.run(finish.wait))
    await clock.advance(1)
    assert elector.is_leader
    finish.set()
    await clock.advance(0)
    assert task.result() is TermEnd.WORK_ENDED
    assert store.seen.record.holder == ""
    assert caplog.text.count("a callback of an election failed") == 2


async def test_a_second_term_is_another_run(contend, clock):
    a = contend()
    await clock.advance(1)
    a.finish.set()
    await clock.advance(0)
    a.finish.clear()
    a.start()
    await clock.advance(5)
    assert a.elector.is_leader


async def test_a_leader_that_does_not_stop_is_unhealthy(contend, clock):
    a = contend(wind_down_seconds=1000)
    await clock.advance(1)
    assert a.elector.unhealthy_reason() is None
    a.lock.travel = cut
    await clock.advance(15 + 20)
    assert a.elector.unhealthy_reason() == "failed election to renew leadership on lease memory"
    await clock.advance(1000)


async def test_who_does_not_hold_the_lease_is_healthy(contend, clock):
    contend("a")
    await clock.advance(1)
    b = contend("b")
    await clock.advance(1)
    assert b.elector.unhealthy_reason(tolerated_seconds=-1000) is None


async def test_a_chosen_holder_yields_at_once_and_releases(contend, clock, store):
    a = contend("a", coordinated=True, wind_down_seconds=0.2)
    b = contend("b", coordinated=True)
    await clock.advance(5)
    assert a.notes == b.notes == []
    store._set(Record("a", 5, None, THEN, strategy="OldestEmulationVersion"))
    await clock.advance(1)
    assert a.elector.is_leader
    store.edit(preferred_holder="b")
    await clock.advance(0.3)
    assert a.task.done()
    assert a.task.result() is TermEnd.YIELDED
    assert (store.seen.record.holder, store.seen.record.preferred_holder) == ("", "b")
    store.edit(holder="b", preferred_holder="", lease_duration_seconds=5)
    await clock.advance(0)
    assert b.elector.is_leader
