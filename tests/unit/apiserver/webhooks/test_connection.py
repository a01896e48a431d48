"""Pool of connections."""

import asyncio

import pytest

from steersman.apiserver.webhooks.connection import IDLE_SECONDS, Connection, ExchangeError, Pool
from steersman.asynckit.clock import FakeClock


class FakeTransport:
    """Transport of a server that answers with the request's body: at once, when ``gate`` is set, or by closing."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.gate = asyncio.Event()
        self.is_aborted = False
        self.tasks: list[asyncio.Task[None]] = []

    def write(self, request: bytes) -> None:
        self.tasks.append(asyncio.create_task(self._answer(request)))

    async def _answer(self, request: bytes) -> None:
        if request == b"wait":
            await self.gate.wait()
        if request == b"fail":
            self.connection.connection_lost(None)
        elif not self.is_aborted:
            self.connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(request), request))

    def abort(self) -> None:
        self.is_aborted = True


class Dialer:
    def __init__(self) -> None:
        self.transports: list[FakeTransport] = []
        self.has_dialed = asyncio.Event()

    async def __call__(self) -> Connection:
        connection = Connection()
        self.transports.append(FakeTransport(connection))
        connection.connection_made(self.transports[-1])  # type: ignore[arg-type] — has the methods that are called
        self.has_dialed.set()
        return connection


async def exchange(pool: Pool, request: bytes, *, seconds: float = 30, body_bytes_max: int = 100) -> bytes:
    answer = await pool.exchange(request, timeout_seconds=seconds, body_bytes_max=body_bytes_max)
    return answer.body


async def test_pool_reuses_idle_connections_until_they_expire():
    dial, clock = Dialer(), FakeClock()
    pool = Pool(dial, clock=clock)
    for _ in range(2):
        await exchange(pool, b"a")
    assert len(dial.transports) == 1
    await clock.advance(IDLE_SECONDS + 1)
    assert dial.transports[0].is_aborted
    await exchange(pool, b"a")
    assert len(dial.transports) == 2
    pool.close()
    assert dial.transports[1].is_aborted


async def test_pool_frees_place_of_failed_and_cancelled_exchanges():
    dial = Dialer()
    pool = Pool(dial, clock=FakeClock(), connections_max=1)
    with pytest.raises(ExchangeError):
        await exchange(pool, b"fail")
    dial.has_dialed.clear()
    running = asyncio.create_task(exchange(pool, b"wait"))
    waiting = asyncio.create_task(exchange(pool, b"a"))
    last = asyncio.create_task(exchange(pool, b"b"))
    await dial.has_dialed.wait()
    waiting.cancel()
    running.cancel()
    assert await last == b"b"
    assert pool.in_use == 0


async def test_pool_passes_place_on_when_a_woken_waiter_is_cancelled():
    dial = Dialer()
    pool = Pool(dial, clock=FakeClock(), connections_max=1)
    running = asyncio.create_task(exchange(pool, b"wait"))
    waiting = asyncio.create_task(exchange(pool, b"a"))
    await dial.has_dialed.wait()
    dial.transports[0].gate.set()
    await running
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await exchange(pool, b"b") == b"b"
    assert pool.in_use == 0


async def test_pool_fails_each_exchange_at_its_own_deadline():
    dial, clock = Dialer(), FakeClock()
    pool = Pool(dial, clock=clock)
    tasks = {seconds: asyncio.create_task(exchange(pool, b"wait", seconds=seconds)) for seconds in (20, 10, 30)}
    for due, pending in ((10, {20, 30}), (20, {30})):
        await clock.advance(due - clock.monotonic() - 1)
        assert not tasks[due].done()
        await clock.advance(1)
        with pytest.raises(TimeoutError):
            await tasks[due]
        assert {seconds for seconds, task in tasks.items() if not task.done()} == pending
    dial.transports[2].gate.set()
    assert await tasks[30] == b"wait"
    assert [transport.is_aborted for transport in dial.transports] == [True, True, False]
    assert pool.in_use == 0


async def test_pool_includes_wait_for_place_in_timeout():
    dial, clock = Dialer(), FakeClock()
    pool = Pool(dial, clock=clock, connections_max=1)
    running = asyncio.create_task(exchange(pool, b"wait"))
    waiting = asyncio.create_task(exchange(pool, b"a", seconds=10))
    await clock.advance(10)
    with pytest.raises(TimeoutError):
        await waiting
    dial.transports[0].gate.set()
    assert await running == b"wait"
    assert await exchange(pool, b"a") == b"a"


async def test_pool_repeats_request_on_new_connection_when_a_reused_one_is_closed():
    dial = Dialer()
    pool = Pool(dial, clock=FakeClock())
    await exchange(pool, b"a")
    dial.transports[0].write = lambda _: dial.transports[0].connection.connection_lost(None)  # type: ignore[method-assign]
    assert await exchange(pool, b"b") == b"b"
    assert len(dial.transports) == 2
