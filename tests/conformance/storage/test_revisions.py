"""``reached`` and ``current_revision``: by then, sinks have their events."""

from __future__ import annotations

import asyncio

from steersman.storage.store import Put


async def test_reached_is_true_for_a_past_revision(store):
    revision = await store.txn([Put("/a", b"1")])
    assert await store.reached(revision, seconds=0.05)


async def test_reached_waits_for_the_write(store, clock, recorder):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    first = await store.txn([Put("/a/x", b"1")])
    waiting = asyncio.ensure_future(store.reached(first + 1, seconds=30))
    await clock.advance(0)
    assert not waiting.done()
    await store.txn([Put("/a/x", b"2")])
    assert await waiting
    assert recorder.events[-1].mod_revision == first + 1


async def test_reached_is_false_after_its_time(store, clock):
    waiting = asyncio.ensure_future(store.reached(9, seconds=0.05))
    await clock.advance(0.05)
    assert not await waiting


async def test_current_revision_follows_its_events(store, recorder):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    for n in range(20):
        writing = asyncio.ensure_future(store.txn([Put("/a/x", b"%d" % n)]))
        revision = await store.current_revision()
        assert [event.mod_revision for event in recorder.events if event.mod_revision <= revision] == list(
            range(1, revision + 1)
        )
        await writing
