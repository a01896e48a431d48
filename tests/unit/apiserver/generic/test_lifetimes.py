from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apiserver.generic.lifetimes import OBJECTS_MAX, Lifetimes

EVENTS = "/api/v1/namespaces/default/events"
EVENT = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}


async def test_objects_of_one_minute_share_a_lease():
    async with Server() as server:
        lifetimes = Lifetimes(server.store, server.clock, ttl_seconds=3600)
        first = await lifetimes.lease_id()
        await server.clock.advance(59)
        assert await lifetimes.lease_id() == first
        await server.clock.advance(1)
        assert await lifetimes.lease_id() != first


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
        lifetimes.forget()
        assert await lifetimes.lease_id() != first


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
