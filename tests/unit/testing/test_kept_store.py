"""Store that outlives the API servers on it."""

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Check, Delete, Put, Unavailable
from steersman.testing.kept_store import KeptStore


async def test_close_ends_watches_and_keeps_the_store():
    inner, lost, seen = MemoryStore(clock=FakeClock()), [], []
    kept_store = KeptStore(inner)
    await kept_store.watch("/a/", seen.append, after_revision=0, on_lost=lost.append)
    await kept_store.txn([Put("/a/1", b"x")])
    await kept_store.close()
    await inner.txn([Put("/a/2", b"y")])
    assert len(seen) == 1
    assert [type(error) for error in lost] == [Unavailable]
    with pytest.raises(Unavailable):
        await kept_store.get("/a/1")
    assert (await KeptStore(inner).get("/a/1")).value == b"x"


async def test_closed_watch_is_not_lost():
    inner, lost = MemoryStore(clock=FakeClock()), []
    kept_store = KeptStore(inner)
    watch = await kept_store.watch("/a/", lambda batch: None, after_revision=0, on_lost=lost.append)
    watch.close()
    await kept_store.close()
    assert lost == []


async def test_commits_are_reported_with_their_revisions():
    inner, commits = MemoryStore(clock=FakeClock()), []
    kept_store = KeptStore(inner, on_commit=lambda revision, count: commits.append((revision, count)))
    await kept_store.txn([Put("/a/1", b"x"), Put("/a/2", b"y")])
    await kept_store.txn([Check("/a/1", 1), Delete("/a/2")])
    assert commits == [(2, 2), (3, 1)]
