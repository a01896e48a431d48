"""Pool of connections."""

import asyncio

import pytest

from steersman.apiserver.webhooks.connection import IDLE_SECONDS, Answer, Connection, ExchangeError, Pool
from steersman.asynckit.clock import FakeClock


class FakeConnection(Connection):
    """Connection that answers when ``answers`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = True
        self.gate = asyncio.Event()

    async def exchange(self, request: bytes, *, body_bytes_max: int) -> Answer:
        if request == b"wait":
            await self.gate.wait()
        if request == b"fail":
            self.abort()
            raise ExchangeError("EOF")
        return Answer(200, "", request)


class Dialer:
    def __init__(self) -> None:
        self.made: list[FakeConnection] = []
        self.has_dialed = asyncio.Event()

    async def __call__(self) -> Connection:
        self.made.append(FakeConnection())
        self.has_dialed.set()
        return self.made[-1]


async def test_pool_reuses_idle_connections_until_they_expire():
    dial, clock = Dialer(), FakeClock()
    pool = Pool(dial, clock=clock)
    for _ in range(2):
        await pool.exchange(b"a", body_bytes_max=1)
    assert len(dial.made) == 1
    await clock.advance(IDLE_SECONDS + 1)
    assert not dial.made[0].is_open
    await pool.exchange(b"a", body_bytes_max=1)
    assert len(dial.made) == 2
    pool.close()
    assert not dial.made[1].is_open


async def test_pool_frees_place_of_failed_and_cancelled_exchanges():
    dial = Dialer()
    pool = Pool(dial, clock=FakeClock(), connections_max=1)
    with pytest.raises(ExchangeError):
        await pool.exchange(b"fail", body_bytes_max=1)
    dial.has_dialed.clear()
    running = asyncio.create_task(pool.exchange(b"wait", body_bytes_max=1))
    waiting = asyncio.create_task(pool.exchange(b"a", body_bytes_max=1))
    last = asyncio.create_task(pool.exchange(b"b", body_bytes_max=1))
    await dial.has_dialed.wait()
    waiting.cancel()
    running.cancel()
    assert (await last).body == b"b"
    assert pool.in_use == 0


async def test_pool_passes_place_on_when_a_woken_waiter_is_cancelled():
    dial = Dialer()
    pool = Pool(dial, clock=FakeClock(), connections_max=1)
    running = asyncio.create_task(pool.exchange(b"wait", body_bytes_max=1))
    waiting = asyncio.create_task(pool.exchange(b"a", body_bytes_max=1))
    await dial.has_dialed.wait()
    dial.made[0].gate.set()
    await running
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (await pool.exchange(b"b", body_bytes_max=1)).body == b"b"
    assert pool.in_use == 0
