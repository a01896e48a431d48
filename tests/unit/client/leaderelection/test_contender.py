import random
from datetime import UTC, datetime

import pytest
from tests.unit.client.leaderelection.memory_lock import MemoryLock, MemoryStore

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import RequestFailed
from steersman.client.leaderelection.contender import Contender
from steersman.client.leaderelection.record import LeaderElectionRecord
from steersman.client.leaderelection.rules import GiveUp, Timing, Wait, Write

THEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def lock(store):
    return MemoryLock(store, "us")


@pytest.fixture
def contender(lock, clock):
    return Contender(lock, timing=Timing(), clock=clock, dice=random.Random(1), coordinated=False, on_new_leader=None)


async def test_attempt_acquires_a_released_lock(contender, lock):
    assert isinstance(await contender.attempt(), Write)
    assert (contender.is_leader, contender.left_seconds, lock.calls) == (True, 10, ["read", "create"])


async def test_attempt_does_not_acquire_a_held_lock(contender, store):
    store._set(LeaderElectionRecord("them", 15, THEN, THEN))
    assert await contender.attempt() == Wait(until=15)
    assert (contender.is_leader, contender.leader, contender.left_seconds) == (False, "them", 0)


async def test_attempt_returns_none_when_it_fails(contender, lock, caplog):
    lock.faults = [RequestFailed("away")]
    assert await contender.attempt() is None
    assert "us could not renew or acquire the lease: away" in caplog.text


async def test_attempt_sends_no_request_after_the_renew_deadline(contender, lock, clock):
    await contender.attempt()
    await clock.advance(10)
    lock.calls.clear()
    assert isinstance(await contender.attempt(), GiveUp)
    assert lock.calls == []


async def test_step_down_ends_leadership_at_once(contender):
    await contender.attempt()
    contender.step_down()
    assert (contender.is_leader, contender.leader) == (False, "us")


async def test_release_writes_once(contender, store, lock):
    await contender.attempt()
    await contender.release()
    assert store.seen.record.holder == ""
    lock.calls.clear()
    await contender.release()
    assert lock.calls == []
