import asyncio
import gc
import logging
import weakref

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.timeouts import wait_for
from steersman.runtime.own_writes import SEEN_TIMEOUT_SECONDS, OwnWrites, StaleCache


class ScriptedInformer:
    """Informer that sees versions as scripted."""

    name = "pods"

    def __init__(self, clock):
        self.clock, self.calls, self.event = clock, [], asyncio.Event()
        self.watching_seconds = SEEN_TIMEOUT_SECONDS

    async def wait_seen(self, written, *, key, timeout_seconds):
        self.calls.append((written, key))
        await wait_for(self.event.wait(), timeout_seconds, clock=self.clock)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def writes():
    return OwnWrites(logging.getLogger("test"))


async def test_wait_returns_when_the_last_write_is_observed(clock, writes):
    informer = ScriptedInformer(clock)
    writes.note("a", informer, "1")
    writes.note("a", informer, "2")
    waiting = asyncio.create_task(writes.await_seen("a"))
    await clock.advance(5)
    assert not waiting.done()
    informer.event.set()
    await waiting
    assert informer.calls == [("2", "")]


async def test_wait_is_for_the_newest_of_several_writes(clock, writes):
    informer = ScriptedInformer(clock)
    informer.event.set()
    for version in ("9", "11", "10"):
        writes.note("a", informer, {"metadata": {"namespace": "n", "name": "b", "resourceVersion": version}})
    await writes.await_seen("a")
    assert informer.calls == [("11", "n/b")]


async def test_versions_that_cannot_be_compared_replace_each_other(clock, writes):
    informer = ScriptedInformer(clock)
    informer.event.set()
    writes.note("a", informer, "x")
    writes.note("a", informer, "y")
    await writes.await_seen("a")
    assert informer.calls == [("y", "")]


async def test_another_key_does_not_wait(clock, writes):
    writes.note("a", ScriptedInformer(clock), "1")
    await writes.await_seen("b")


async def test_wait_is_bounded(clock, writes, caplog):
    writes.note("a", ScriptedInformer(clock), "1")
    waiting = asyncio.create_task(writes.await_seen("a"))
    await clock.advance(10)
    await waiting
    assert "the cache of pods is behind the last write for a" in caplog.text
    await writes.await_seen("a")


async def test_wait_raises_while_the_watch_fails(clock, writes):
    informer = ScriptedInformer(clock)
    informer.watching_seconds = SEEN_TIMEOUT_SECONDS - 1
    writes.note("a", informer, "1")
    waiting = asyncio.create_task(writes.await_seen("a"))
    await clock.advance(10)
    with pytest.raises(StaleCache, match="the cache of pods is behind the last write for a"):
        await waiting
    informer.event.set()
    await writes.await_seen("a")
    await writes.await_seen("a")
    assert informer.calls == [("1", ""), ("1", "")]


async def test_wait_ignores_deleted_objects(clock, writes):
    writes.note("a", ScriptedInformer(clock), "1")
    writes.forget("a")
    await writes.await_seen("a")


class Written(dict):
    """An object whose end can be seen."""


async def test_note_does_not_retain_the_object(clock, writes):
    written = Written(metadata={"name": "p", "resourceVersion": "1"})
    reference = weakref.ref(written)
    writes.note("p", ScriptedInformer(clock), written)
    del written
    gc.collect()
    assert reference() is None
