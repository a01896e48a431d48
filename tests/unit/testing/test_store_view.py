"""Store that outlives the API servers on it."""

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Check, Delete, Put, Unavailable
from steersman.testing.store_view import StoreView


async def test_close_ends_watches_and_keeps_the_store():
    inner, lost, seen = MemoryStore(clock=FakeClock()), [], []
    view = StoreView(inner)
    await view.watch("/a/", seen.append, after_revision=0, on_lost=lost.append)
    await view.txn([Put("/a/1", b"x")])
    await view.close()
    await inner.txn([Put("/a/2", b"y")])
    assert len(seen) == 1
    assert [type(error) for error in lost] == [Unavailable]
    with pytest.raises(Unavailable):
        await view.get("/a/1")
    assert (await StoreView(inner).get("/a/1")).value == b"x"


async def test_closed_watch_is_not_lost():
    inner, lost = MemoryStore(clock=FakeClock()), []
    view = StoreView(inner)
    watch = await view.watch("/a/", lambda batch: None, after_revision=0, on_lost=lost.append)
    watch.close()
    await view.close()
    assert lost == []


async def test_commits_are_reported_with_their_revisions():
    inner, commits = MemoryStore(clock=FakeClock()), []
    view = StoreView(inner, on_commit=lambda revision, count: commits.append((revision, count)))
    await view.txn([Put("/a/1", b"x"), Put("/a/2", b"y")])
    await view.txn([Check("/a/1", 1), Delete("/a/2")])
    assert commits == [(2, 2), (3, 1)]
