from __future__ import annotations

import asyncio

import pytest

from steersman.storage.store import Compacted, Delete, Event, Put, Unavailable


async def test_watch_sends_every_kind_of_change(store, recorder):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"1")])
    await store.txn([Put("/a/x", b"2")])
    await store.txn([Delete("/a/x")])
    await recorder.wait_until(lambda r: len(r.events) == 3)
    assert recorder.events == [
        Event("/a/x", b"1", 1, 1),
        Event("/a/x", b"2", 1, 2),
        Event("/a/x", None, 1, 3),
    ]


async def test_watch_sink_is_called_before_the_write_returns(store, recorder):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    for n in range(5):
        revision = await store.txn([Put("/a/x", b"%d" % n)])
        assert recorder.events[-1].mod_revision == revision == recorder.batches[-1].revision


async def test_watch_sends_only_its_prefix(store, recorder):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/ab", b"1"), Put("/a", b"1"), Put("/b/a/x", b"1"), Put("/a/x/y/z", b"1")])
    assert [event.key for event in recorder.events] == ["/a/x/y/z"]


async def test_watches_of_nested_prefixes_receive_the_event(store, recorders):
    watches = {prefix: recorders() for prefix in ("/", "/a/", "/a/b/", "/a/b/c/", "/a/b/c/d/")}
    for prefix, recorder in watches.items():
        await store.watch(prefix, recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/b/c/d", b"1")])
    assert {prefix for prefix, recorder in watches.items() if recorder.events} == {"/", "/a/", "/a/b/", "/a/b/c/"}


async def test_watch_sends_a_transaction_in_one_batch(store, recorder, numbering):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"1"), Put("/a/y", b"1"), Put("/b", b"1")])
    (batch,) = recorder.batches
    assert {event.key for event in batch.events} == {"/a/x", "/a/y"}
    assert batch.revision == numbering(3)[-1]


async def test_watch_from_an_old_revision_replays_history(store, recorder, numbering):
    await store.txn([Put("/a/x", b"1")])
    await store.txn([Put("/a/x", b"2"), Put("/b/x", b"2")])
    await store.txn([Delete("/a/x"), Put("/a/y", b"3")])
    await store.txn([Put("/a/x", b"4")])
    await store.watch("/a/", recorder, after_revision=1, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"5")])
    _, put, _, deleted, other, again, live = numbering(1, 2, 2, 1, 1)
    assert recorder.summary == [
        ("/a/x", b"2", put),
        ("/a/x", None, deleted),
        ("/a/y", b"3", other),
        ("/a/x", b"4", again),
        ("/a/x", b"5", live),
    ]


async def test_watch_from_revision_zero_replays_everything(store, recorder):
    for n in range(700):
        await store.txn([Put(f"/a/{n % 7}", b"%d" % n)])
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    assert recorder.summary == [(f"/a/{n % 7}", b"%d" % n, n + 1) for n in range(700)]
    assert [batch.revision for batch in recorder.batches] == sorted({batch.revision for batch in recorder.batches})


async def test_watch_from_the_present_sends_no_history(store, recorder):
    revision = await store.txn([Put("/a/x", b"1")])
    await store.watch("/a/", recorder, after_revision=revision, on_lost=recorder.on_lost)
    assert recorder.batches == []


async def test_watch_from_a_future_revision_waits(store, recorder):
    await store.watch("/a/", recorder, after_revision=2, on_lost=recorder.on_lost)
    for n in range(3):
        await store.txn([Put("/a/x", b"%d" % n)])
    assert recorder.summary == [("/a/x", b"2", 3)]


async def test_watches_started_under_load_are_complete_without_repetition(store, recorders):
    async def write(name):
        for n in range(60):
            await store.txn([Put(f"/a/{name}", b"%d" % n)])

    async def watch(after_revision):
        recorder = recorders()
        await store.watch("/a/", recorder, after_revision=after_revision, on_lost=recorder.on_lost)
        return recorder

    writers = [asyncio.ensure_future(write(n)) for n in range(5)]
    watched = []
    for _ in range(10):
        watched.append(await watch(0))
        await store.txn([Put("/b", b"")])
    await asyncio.gather(*writers)
    everything = await watch(0)
    for recorder in watched:
        assert recorder.summary == everything.summary
    assert len(everything.summary) == 300


async def test_watch_from_the_revision_of_a_range_is_complete(store, recorder):
    async def write():
        for n in range(50):
            await store.txn([Put(f"/a/{n % 5}", b"%d" % n)])

    writer = asyncio.ensure_future(write())
    await store.txn([Put("/b", b"")])
    answer = await store.range("/a/")
    await store.watch("/a/", recorder, after_revision=answer.revision, on_lost=recorder.on_lost)
    await writer
    state = {kv.key: kv.value for kv in answer.kvs} | {event.key: event.value for event in recorder.events}
    assert state == {kv.key: kv.value for kv in (await store.range("/a/")).kvs}
    assert all(kv.mod_revision <= answer.revision for kv in answer.kvs)
    assert all(event.mod_revision > answer.revision for event in recorder.events)


async def test_closed_watch_receives_no_events(store, recorder):
    subscription = await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    subscription.close()
    subscription.close()
    await store.txn([Put("/a/x", b"1")])
    assert (recorder.batches, recorder.lost) == ([], [])


async def test_watch_below_the_compact_revision_is_rejected(store, recorder):
    for n in range(5):
        await store.txn([Put("/a/x", b"%d" % n)])
    await store.compact(4)
    with pytest.raises(Compacted) as caught:
        await store.watch("/a/", recorder, after_revision=2, on_lost=recorder.on_lost)
    assert caught.value.compact_revision == 4
    assert recorder.batches == []


async def test_live_watch_survives_compaction(store, recorder):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/b/x", b"1")])
    await store.txn([Put("/b/x", b"2")])
    await store.compact(2)
    await store.txn([Put("/a/x", b"3")])
    assert recorder.summary == [("/a/x", b"3", 3)]


async def test_sink_that_raises_ends_only_its_watch(store, recorder, recorders, caplog):
    failing = recorders()

    def sink(batch):
        failing(batch)
        raise RuntimeError("a bug")

    await store.watch("/a/", sink, after_revision=0, on_lost=failing.on_lost)
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"1")])
    await store.txn([Put("/a/x", b"2")])
    assert len(failing.batches) == 1
    assert [type(error) for error in failing.lost] == [Unavailable]
    assert len(recorder.events) == 2
    assert "a bug" in caplog.text


async def test_sink_may_close_its_own_watch(store, recorder):
    subscriptions = []

    def sink(batch):
        recorder(batch)
        subscriptions[0].close()

    subscriptions.append(await store.watch("/a/", sink, after_revision=0, on_lost=recorder.on_lost))
    await store.txn([Put("/a/x", b"1")])
    await store.txn([Put("/a/x", b"2")])
    assert len(recorder.events) == 1
    assert recorder.lost == []


async def test_watch_rejects_a_prefix_without_slash(store, recorder):
    with pytest.raises(ValueError, match="'/'"):
        await store.watch("/a", recorder, after_revision=0, on_lost=recorder.on_lost)
