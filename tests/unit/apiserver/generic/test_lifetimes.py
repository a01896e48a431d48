from __future__ import annotations

import asyncio
from itertools import count

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apiserver.generic.lifetimes import OBJECTS_MAX, Lifetimes
from steersman.storage.memory import MemoryStore

EVENTS = "/api/v1/namespaces/default/events"
EVENT = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}


class YieldingStore:
    """Lets other writers run before it grants a lease, as a store over the network does."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def grant_lease(self, ttl_seconds: int) -> int:
        await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop
        return await self._store.grant_lease(ttl_seconds)


async def test_objects_of_one_minute_share_a_lease():
    async with Server() as server:
        lifetimes = Lifetimes(server.store, server.clock, ttl_seconds=3600)
        first = await lifetimes.lease_id()
        await server.clock.advance(59)
        assert await lifetimes.lease_id() == first
        await server.clock.advance(1)
        assert await lifetimes.lease_id() != first


async def test_lease_is_reused_from_the_time_it_was_requested():
    async with Server() as server:

        class SlowStore:
            async def grant_lease(self, _ttl_seconds: int) -> int:
                await server.clock.advance(30)
                return next(lease_ids)

        lease_ids = count(1)
        lifetimes = Lifetimes(SlowStore(), server.clock, ttl_seconds=3600)
        assert await lifetimes.lease_id() == 1
        await server.clock.advance(30)
        assert await lifetimes.lease_id() == 2


async def test_lease_holds_a_bounded_number_of_objects():
    async with Server() as server:
        lifetimes = Lifetimes(server.store, server.clock, ttl_seconds=3600)
        held = {await lifetimes.lease_id() for _ in range(OBJECTS_MAX)}
        assert len(held) == 1
        assert await lifetimes.lease_id() not in held


async def test_expired_lease_is_not_reused():
    async with Server() as server:
        lifetimes = Lifetimes(server.store, server.clock, ttl_seconds=3600)
        first = await lifetimes.lease_id()
        lifetimes.forget(first)
        assert await lifetimes.lease_id() != first


async def test_writer_that_learns_late_keeps_the_new_lease():
    async with Server() as server:
        lifetimes = Lifetimes(server.store, server.clock, ttl_seconds=3600)
        expired = await lifetimes.lease_id()
        lifetimes.forget(expired)
        current = await lifetimes.lease_id()
        lifetimes.forget(expired)
        assert await lifetimes.lease_id() == current


async def test_concurrent_writers_share_one_lease():
    async with Server() as server:
        lifetimes = Lifetimes(YieldingStore(MemoryStore(clock=server.clock)), server.clock, ttl_seconds=3600)
        leases = await asyncio.gather(*(lifetimes.lease_id() for _ in range(50)))
        assert len(set(leases)) == 1


@pytest.mark.parametrize("path", [EVENTS, "/apis/events.k8s.io/v1/namespaces/default/events"])
async def test_events_expire(path):
    async with Server(event_ttl_seconds=100) as server:
        await server.make(EVENTS, **EVENT)
        await server.clock.advance(90)
        assert (await server.call("GET", f"{path}/a")).code == 200
        await server.clock.advance(30)
        assert (await server.call("GET", f"{path}/a")).code == 404


async def test_updated_event_expires_later():
    async with Server(event_ttl_seconds=100) as server:
        await server.make(EVENTS, **EVENT)
        await server.clock.advance(90)
        assert (await server.merge(f"{EVENTS}/a", {"count": 2})).code == 200
        await server.clock.advance(90)
        assert (await server.call("GET", f"{EVENTS}/a")).code == 200
        await server.clock.advance(30)
        assert (await server.call("GET", f"{EVENTS}/a")).code == 404
