"""Pooled connections, against a server on the test's event loop."""

import pytest
from tests.unit.listening import listening

from steersman.apiserver.proxying import pool
from steersman.apiserver.proxying.connections import Connections, DialError, Outgoing
from steersman.apiserver.proxying.kubelet import Location
from steersman.apiserver.proxying.pool import ConnectionPool, PoolGroup
from steersman.asynckit.clock import FakeClock, RealClock

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GET = Outgoing(method="GET", target="/")


class Server:
    def __init__(self, answer: bytes = ANSWER) -> None:
        self.connections = 0
        self.answer = answer

    async def __call__(self, reader, writer) -> None:
        self.connections += 1
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self.answer)
            await writer.drain()


def pool_of(clock, group: PoolGroup | None = None) -> ConnectionPool:
    connections = Connections(RealClock())
    return ConnectionPool(connections, tls=None, server_hostname="", clock=clock, group=group or PoolGroup())


def at(port: int) -> Location:
    return Location("127.0.0.1", str(port), scheme="http")


async def test_connection_is_reused_after_complete_response():
    server, connections = Server(), pool_of(RealClock())
    async with listening(server) as port:
        for _ in range(5):
            assert await (await connections.round_trip(at(port), GET)).text(10) == b"ok"
        assert (server.connections, connections.open_count) == (1, 1)
        connections.close()
        assert connections.open_count == 0


async def test_connection_is_not_reused_after_unread_response():
    server, connections = Server(), pool_of(RealClock())
    server.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\nok"
    async with listening(server) as port:
        for _ in range(2):
            (await connections.round_trip(at(port), GET)).close()
        assert (server.connections, connections.open_count) == (2, 0)


async def test_connection_is_closed_after_idle_timeout():
    clock, server = FakeClock(), Server()
    connections = pool_of(clock)
    async with listening(server) as port:
        await (await connections.round_trip(at(port), GET)).text(10)
        await clock.advance(pool.IDLE_SECONDS)
        await (await connections.round_trip(at(port), GET)).text(10)
        assert (server.connections, connections.open_count) == (2, 1)
        connections.close()


async def test_request_with_body_gets_fresh_connection():
    clock, server = FakeClock(), Server()
    connections = pool_of(clock)
    async with listening(server) as port:
        await (await connections.round_trip(at(port), GET)).text(10)
        await clock.advance(pool.FRESH_SECONDS)
        (await connections.round_trip(at(port), Outgoing(method="POST", target="/"))).close()
        assert server.connections == 2
        connections.close()


async def test_request_above_the_limit_fails_at_once(monkeypatch):
    monkeypatch.setattr(pool, "OPEN_MAX", 1)
    server, connections = Server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), pool_of(RealClock())
    async with listening(server) as port:
        answer = await connections.round_trip(at(port), GET)
        with pytest.raises(DialError, match="1 connections are open"):
            await connections.round_trip(at(port), GET)
        answer.close()


async def test_request_above_the_limit_of_all_pools_fails_unless_another_pool_has_an_idle_connection(monkeypatch):
    monkeypatch.setattr(pool, "TOTAL_OPEN_MAX", 1)
    group = PoolGroup()
    first, second = pool_of(RealClock(), group), pool_of(RealClock(), group)
    async with listening(Server()) as port:
        answer = await first.round_trip(at(port), GET)
        with pytest.raises(DialError, match="1 connections are open"):
            await second.round_trip(at(port), GET)
        await answer.text(10)
        assert await (await second.round_trip(at(port), GET)).text(10) == b"ok"
        assert (first.open_count, second.open_count, group.open_count) == (0, 1, 1)
        second.close()
    assert (group.open_count, group.idle_count, group.pools) == (0, 0, set())


async def test_longest_idle_connection_of_all_pools_is_closed_above_their_limit(monkeypatch):
    monkeypatch.setattr(pool, "TOTAL_IDLE_MAX", 2)
    clock, group = FakeClock(), PoolGroup()
    pools = [pool_of(clock, group) for _ in range(3)]
    async with listening(Server()) as port:
        for member in pools:
            await (await member.round_trip(at(port), GET)).text(10)
            await clock.advance(1)
        assert [member.open_count for member in pools] == [0, 1, 1]
        assert group.idle_count == 2
        for member in pools:
            member.close()


async def test_streamed_body_of_unknown_length_is_chunked():
    received = []

    async def serve(reader, writer) -> None:
        received.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(ANSWER)
        await writer.drain()

    async def body():
        yield b"abc"
        yield b"de"

    connections = pool_of(RealClock())
    async with listening(serve) as port:
        sent = Outgoing(method="POST", target="/", stream=body())
        assert await (await connections.round_trip(at(port), sent)).text(10) == b"ok"
    assert received[0].endswith(b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    connections.close()
