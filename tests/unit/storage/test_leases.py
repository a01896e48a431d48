from __future__ import annotations

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.leases import LeaseTable, random_lease_id
from steersman.storage.store import LeaseNotFound


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def expired():
    return []


@pytest.fixture
def table(clock, expired):
    return LeaseTable(clock, on_expired=expired.append)


async def test_leases_are_reported_when_their_time_is_over(table, clock, expired):
    for lease_id, seconds in ((1, 30), (2, 10), (3, 20)):
        table.add(lease_id, ttl_seconds=60, remaining_seconds=seconds)
    await clock.advance(20)
    assert expired == [2, 3]
    await clock.advance(10)
    assert expired == [2, 3, 1]


async def test_a_renewed_lease_is_reported_later(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    await clock.advance(9)
    table.renew(1)
    await clock.advance(9)
    assert expired == []
    await clock.advance(1)
    assert expired == [1]


async def test_renewing_does_not_pile_up_deadlines(table, clock):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    for _ in range(100):
        table.renew(1)
        await clock.advance(5)
    assert len(table._deadlines) == 1


async def test_a_removed_lease_is_not_reported(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    table.remove(1)
    await clock.advance(20)
    assert expired == []


async def test_a_lease_that_could_not_be_ended_is_reported_again(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    await clock.advance(10)
    table.get(1).ending = True
    with pytest.raises(LeaseNotFound):
        table.renew(1)
    table.retry(1, seconds=1)
    await clock.advance(1)
    assert expired == [1, 1]


async def test_keys_follow_their_lease(table):
    first = table.add(1, ttl_seconds=10, remaining_seconds=10)
    second = table.add(2, ttl_seconds=10, remaining_seconds=10)
    table.move("/a", before=0, after=1)
    table.move("/b", before=0, after=1)
    table.move("/a", before=1, after=2)
    table.move("/b", before=1, after=0)
    assert (first.keys, second.keys) == (set(), {"/a"})


async def test_after_close_nothing_is_reported(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    table.close()
    await clock.advance(20)
    assert expired == []


def test_random_ids_are_positive_and_fit_into_64_bits():
    assert all(0 < random_lease_id() < 1 << 63 for _ in range(100))
