import asyncio
import random
from datetime import UTC, datetime

import pytest
from tests.unit.client.leaderelection import memory_lock as memory

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import Forbidden, RequestFailed
from steersman.client.leaderelection import LeaderElectionRecord, LeaderElector, TermEnd

THEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store():
    return memory.MemoryStore()


class Candidate:
    """A LeaseCandidate that records its deletion."""

    def __init__(self, name, note):
        self.name, self.note = name, note

    async def run(self):
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.note("candidate deleted")


class Contender:
    """An elector whose work records events and ends ``wind_down_seconds`` after its cancellation."""

    def __init__(
        self, store, clock, identity="a", *, wind_down_seconds=0.0, watchable=True, is_candidate=False, **options
    ):
        self.clock, self.wind_down_seconds = clock, wind_down_seconds
        self.lock = memory.MemoryLock(store, identity, watchable=watchable)
        self.log = []
        self.finish = asyncio.Event()
        self.candidate = Candidate(identity, self.note) if is_candidate else None
        self.elector = LeaderElector(
            self.lock,
            clock=clock,
            dice=random.Random(identity),
            on_new_leader=lambda leader: self.note(f"leader {leader}"),
            on_stopped_leading=lambda: self.note("stopped"),
            candidate=self.candidate,
            **options,
        )

    def note(self, event):
        self.log.append((event, self.clock.monotonic()))

    @property
    def notes(self):
        return [event for event, _ in self.log]

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
    """Factory of started contenders, which are stopped at the end."""
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
    """Deliver without delay."""


async def cut(*_):
    raise RequestFailed("the network is cut")


async def test_first_contender_acquires_the_lock_at_once(contend, clock, store):
    a = contend()
    await clock.advance(0)
    assert a.notes == ["leader a", "started"]
    assert a.elector.is_leader
    assert store.seen.record == LeaderElectionRecord("a", 15, THEN, THEN)


async def test_leader_renews_without_reading(contend, clock):
    a = contend()
    await clock.advance(0)
    a.lock.calls.clear()
    await clock.advance(7)
    assert a.lock.calls == ["replace"] * 3


async def test_leader_reads_and_renews_after_a_conflict(contend, clock, store):
    a = contend(watchable=False)
    await clock.advance(1)
    store.edit(lease_duration_seconds=99)
    a.lock.calls.clear()
    await clock.advance(1.5)
    assert a.lock.calls == ["replace", "read", "replace"]
    assert a.elector.is_leader


async def test_waiting_contender_is_notified_of_the_leader(contend, clock):
    a = contend("a")
    await clock.advance(1)
    b = contend("b")
    await clock.advance(100)
    assert b.notes == ["leader a"]
    assert a.elector.is_leader
    assert (b.elector.is_leader, b.elector.leader) == (False, "a")


@pytest.mark.parametrize("watchable", [True, False])
async def test_another_contender_leads_after_a_crash_within_lease_duration_and_retry_period(contend, clock, watchable):
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


async def test_disconnected_leader_stops_before_its_lease_expires(contend, clock):
    a = contend()
    await clock.advance(5)  # renewed at 4
    a.lock.travel = cut
    await clock.advance(20)
    assert a.task.done()
    assert a.task.result() is TermEnd.LOST
    assert dict(a.log)["work ended"] == 4 + 10


async def test_renewal_without_response_is_retried(contend, clock):
    a = contend()
    await clock.advance(1)
    a.lock.travel = lambda: asyncio.get_running_loop().create_future()
    await clock.advance(2)
    a.lock.travel = at_once
    await clock.advance(30)
    assert a.elector.is_leader


async def test_another_contender_leads_at_once_after_a_release(contend, clock, store):
    a = contend("a")
    await clock.advance(1)
    b = contend("b")
    await clock.advance(5.1)
    a.task.cancel()
    await clock.advance(0.5)
    assert "started" in b.notes
    assert store.seen.record.transitions == 1


async def test_lease_is_released_after_the_work_has_ended(contend, clock, store):
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


async def test_lease_is_released_after_the_work_has_ended_when_cancelled_twice(contend, clock, store):
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


async def test_lease_is_released_when_the_work_returns(contend, clock, store):
    a = contend()
    await clock.advance(1)
    a.finish.set()
    await clock.advance(0)
    assert a.task.done()
    assert a.task.result() is TermEnd.WORK_ENDED
    assert store.seen.record.holder == ""
    assert a.lock.events == ["became leader", "stopped leading"]


async def test_run_raises_the_error_of_the_work_after_the_release(contend, clock, store):
    a = contend()
    a.task.cancel()
    await clock.advance(0)

    async def broken():
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await a.elector.run(broken)
    assert store.seen.record.holder == ""


async def test_run_logs_the_error_of_cancelled_work(contend, clock, store, caplog):
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


async def test_lease_is_kept_without_release_on_exit(contend, clock, store):
    a = contend(release_on_exit=False)
    await clock.advance(1)
    a.task.cancel()
    await clock.advance(1)
    assert store.seen.record.holder == "a"
    assert not a.elector.is_leader


async def test_release_without_response_is_bounded(contend, clock, caplog):
    a = contend()
    await clock.advance(1)
    a.lock.travel = cut
    a.task.cancel()
    await clock.advance(3)
    assert a.task.cancelled()
    assert "the lease could not be released: the network is cut" in caplog.text


async def test_release_may_take_as_long_as_a_renewal(contend, clock, store):
    a = contend()
    await clock.advance(1)

    async def travel_slowly():
        await clock.sleep(9)

    a.lock.travel = travel_slowly
    a.task.cancel()
    await clock.advance(10)
    assert a.task.cancelled()
    assert store.seen.record.holder == ""


async def test_release_is_retried_once_after_a_conflict(contend, clock, store):
    a = contend(watchable=False)
    await clock.advance(1)
    store.edit(lease_duration_seconds=99)
    a.task.cancel()
    await clock.advance(0)
    assert store.seen.record.holder == ""


async def test_work_ends_at_once_when_another_holder_is_written(contend, clock, store):
    a = contend()
    await clock.advance(1)
    store.edit(holder="usurper")
    await clock.advance(0)
    assert a.task.done()
    assert a.task.result() is TermEnd.LOST
    assert store.seen.record.holder == "usurper"
    assert a.notes[-3:] == ["leader usurper", "work ended", "stopped"]


async def test_late_response_does_not_replace_a_newer_observation(contend, clock, store):
    a = contend(is_candidate=True)
    await clock.advance(0)
    store._set(LeaderElectionRecord("a", 5, None, THEN, strategy="OldestEmulationVersion"))
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


async def test_watch_is_restarted_at_once_when_the_server_ends_it(contend, clock, store):
    a = contend("a")
    await clock.advance(1)
    b = Contender(store, clock, "b")
    started = []

    async def ending():
        started.append(clock.monotonic())
        yield store.seen
        await clock.sleep(100 if len(started) < 3 else 0)

    b.lock.watch = ending
    b.start()
    await clock.advance(210)
    assert started[:3] == [1, 101, 201]
    assert started[3] > 203  # one that ends as soon as it began is not
    b.task.cancel()
    await clock.advance(1)
    assert a.elector.is_leader


async def test_leader_recreates_a_deleted_lock(contend, clock, store):
    a = contend()
    await clock.advance(1)
    store.delete()
    await clock.advance(0.1)
    assert store.seen.record.holder == "a"
    assert a.elector.is_leader


async def test_is_leader_is_false_after_a_long_pause(contend, clock):
    a = contend()
    await clock.advance(1)
    clock._elapsed += 11  # the machine was suspended: no timer fired
    assert not a.elector.is_leader


async def test_contender_without_watch_permission_polls(contend, clock, store, caplog):
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


async def test_lost_race_for_a_released_lock_is_not_an_error(contend, clock):
    contenders = [contend(name) for name in "abc"]
    await clock.advance(1)
    assert sum(contender.elector.is_leader for contender in contenders) == 1


async def test_exception_of_a_callback_is_logged(store, clock, caplog):
    a = Contender(store, clock, "a")
    a.note = lambda event: 1 / 0
    elector, finish = a.elector, asyncio.Event()
    task = asyncio.create_task(elector.run(finish.wait))
    await clock.advance(1)
    assert elector.is_leader
    finish.set()
    await clock.advance(0)
    assert task.result() is TermEnd.WORK_ENDED
    assert store.seen.record.holder == ""
    assert caplog.text.count("a callback of an election failed") == 2


async def test_run_can_be_called_for_a_second_term(contend, clock):
    a = contend()
    await clock.advance(1)
    a.finish.set()
    await clock.advance(0)
    a.finish.clear()
    a.start()
    await clock.advance(5)
    assert a.elector.is_leader


async def test_unhealthy_reason_of_a_leader_with_an_expired_lease(contend, clock):
    a = contend(wind_down_seconds=1000)
    await clock.advance(1)
    assert a.elector.unhealthy_reason() is None
    a.lock.travel = cut
    await clock.advance(15 + 20)
    assert a.elector.unhealthy_reason() == "failed election to renew leadership on lease memory"
    await clock.advance(1000)


async def test_unhealthy_reason_is_none_without_the_lease(contend, clock):
    contend("a")
    await clock.advance(1)
    b = contend("b")
    await clock.advance(1)
    assert b.elector.unhealthy_reason(tolerated_seconds=-1000) is None


async def test_coordinated_holder_yields_to_the_preferred_holder_at_once(contend, clock, store):
    a = contend("a", is_candidate=True, wind_down_seconds=0.2)
    b = contend("b", is_candidate=True)
    await clock.advance(5)
    assert a.notes == b.notes == []
    store._set(LeaderElectionRecord("a", 5, None, THEN, strategy="OldestEmulationVersion"))
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


async def test_candidate_is_deleted_before_the_lease_is_released(contend, clock, store):
    a = contend("a", is_candidate=True, wind_down_seconds=0.2)
    await clock.advance(1)
    store._set(LeaderElectionRecord("a", 5, None, THEN, strategy="OldestEmulationVersion"))
    await clock.advance(1)
    replace = a.lock.replace

    async def noted(seen, record):
        a.note(f"holder {record.holder!r}")
        return await replace(seen, record)

    a.lock.replace = noted
    a.task.cancel()
    await clock.advance(1)
    assert a.task.done()
    assert a.notes[-4:] == ["work ended", "stopped", "candidate deleted", "holder ''"]


async def test_candidate_elected_while_exiting_releases_the_lease(contend, clock, store):
    a = contend("a", is_candidate=True)
    await clock.advance(1)
    store._set(LeaderElectionRecord("a", 5, None, THEN, strategy="OldestEmulationVersion"))
    a.task.cancel()  # before the change is seen
    await clock.advance(1)
    assert "started" not in a.notes
    assert store.seen.record.holder == ""


def test_elector_rejects_a_candidate_without_the_identity_of_the_lock(store, clock):
    with pytest.raises(ValueError, match="candidate b does not have the identity of the lock, a"):
        LeaderElector(memory.MemoryLock(store, "a"), clock=clock, candidate=Candidate("b", print))
