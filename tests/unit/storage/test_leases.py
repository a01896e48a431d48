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


async def test_expired_leases_are_reported(table, clock, expired):
    for lease_id, seconds in ((1, 30), (2, 10), (3, 20)):
        table.add(lease_id, ttl_seconds=60, remaining_seconds=seconds)
    await clock.advance(20)
    assert expired == [2, 3]
    await clock.advance(10)
    assert expired == [2, 3, 1]


async def test_renewed_lease_is_reported_later(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    await clock.advance(9)
    table.renew(1)
    await clock.advance(9)
    assert expired == []
    await clock.advance(1)
    assert expired == [1]


async def test_renew_does_not_accumulate_deadlines(table, clock):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    for _ in range(100):
        table.renew(1)
        await clock.advance(5)
    assert len(table._deadlines) == 1


async def test_removed_lease_is_not_reported(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    table.remove(1)
    await clock.advance(20)
    assert expired == []


async def test_retry_reports_an_expired_lease_again(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    await clock.advance(10)
    table.get(1).ending = True
    with pytest.raises(LeaseNotFound):
        table.renew(1)
    table.retry(1, seconds=1)
    await clock.advance(1)
    assert expired == [1, 1]


async def test_move_reassigns_a_key(table):
    first = table.add(1, ttl_seconds=10, remaining_seconds=10)
    second = table.add(2, ttl_seconds=10, remaining_seconds=10)
    table.move("/a", before=0, after=1)
    table.move("/b", before=0, after=1)
    table.move("/a", before=1, after=2)
    table.move("/b", before=1, after=0)
    assert (first.keys, second.keys) == (set(), {"/a"})


async def test_close_stops_reports(table, clock, expired):
    table.add(1, ttl_seconds=10, remaining_seconds=10)
    table.close()
    await clock.advance(20)
    assert expired == []


def test_random_lease_id_is_a_positive_64_bit_integer():
    assert all(0 < random_lease_id() < 1 << 63 for _ in range(100))
