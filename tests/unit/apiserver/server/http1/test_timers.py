"""Timers of a connection, on a clock that the tests advance."""

import pytest

from steersman.apiserver.server.http1.limits import Timeouts
from steersman.apiserver.server.http1.timers import ConnectionTimers
from steersman.asynckit.clock import FakeClock

TIMEOUTS = Timeouts(head=10, body=20, write_stall=30, idle=40, linger=2)


class Connection:
    def __init__(self):
        self.clock = FakeClock()
        self.calls = []
        self.timers = ConnectionTimers(
            self.clock, TIMEOUTS, abort=lambda: self.calls.append("abort"), close=lambda: self.calls.append("close")
        )

    async def calls_after(self, seconds):
        await self.clock.advance(seconds)
        return self.calls


@pytest.fixture
def connection():
    return Connection()


async def test_incomplete_head_aborts_once_its_time_is_over(connection):
    connection.timers.expect_head()
    assert await connection.calls_after(9) == []
    connection.timers.expect_head()
    assert await connection.calls_after(1) == ["abort"]


async def test_body_has_its_own_time_after_the_head(connection):
    connection.timers.expect_head()
    await connection.clock.advance(9)
    connection.timers.expect_body()
    assert await connection.calls_after(19) == []
    connection.timers.expect_body()
    assert await connection.calls_after(1) == ["abort"]


async def test_idleness_ends_the_timer_of_a_body(connection):
    connection.timers.expect_body()
    connection.timers.begin_idleness()
    connection.timers.expect_head()
    assert await connection.calls_after(39) == []
    assert await connection.calls_after(1) == ["close"]


async def test_idle_period_counts_from_its_own_start(connection):
    connection.timers.begin_idleness()
    await connection.clock.advance(30)
    connection.timers.end_idleness()
    connection.timers.begin_idleness()
    assert await connection.calls_after(39) == []
    assert await connection.calls_after(1) == ["close"]


async def test_busy_connection_is_not_closed_as_idle(connection):
    connection.timers.begin_idleness()
    connection.timers.end_idleness()
    assert await connection.calls_after(1000) == []


async def test_stalled_write_aborts(connection):
    connection.timers.start_writing()
    connection.timers.stop_writing()
    assert await connection.calls_after(30) == []
    connection.timers.start_writing()
    assert await connection.calls_after(30) == ["abort"]


async def test_linger_calls_the_given_function(connection):
    connection.timers.linger(lambda: connection.calls.append("transport closed"))
    assert await connection.calls_after(2) == ["transport closed"]


async def test_release_cancels_all_timers(connection):
    connection.timers.expect_body()
    connection.timers.start_writing()
    connection.timers.begin_idleness()
    connection.timers.release()
    assert await connection.calls_after(1000) == []
