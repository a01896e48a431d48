"""Event streams of watches over connections that take pushes."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.apiserver.reading import Watch, World

from steersman.apiserver.generic.change_ring import ChangeRing


class Pipe:
    """A connection that pieces are pushed to."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_full = False
        #: Paused before anything is read for it.
        self.is_paused = False
        self._resumed = asyncio.Event()

    async def drained(self) -> None:
        await self._resumed.wait()

    def resume(self) -> None:
        self.is_paused = False
        self._resumed.set()

    def __call__(self, piece: bytes) -> bool:
        if not self.is_full:
            self.pieces.append(piece)
        return not self.is_full


async def pushed(world: World) -> tuple[Pipe, Watch]:
    """Start a watch over a connection that takes pushes, and wait until it waits."""
    pipe = Pipe()
    watch = await world.watch()
    watch.stream.attach(pipe)
    await watch.seen()
    return pipe, watch


async def test_change_is_pushed_to_a_waiting_watch():
    world = World()
    pipe, watch = await pushed(world)
    await world.put("a")
    await world.clock.advance(1)
    await world.put("b")
    assert await watch.seen() == []
    assert [piece.count(b"\n") for piece in pipe.pieces] == [1, 1]
    await watch.close()


async def test_pushed_changes_stay_in_order_when_the_client_is_slow():
    world = World()
    pipe, watch = await pushed(world)
    pipe.is_full = True
    await world.put("a")
    await world.put("b")
    assert [name for _, name, _ in await watch.event_keys()] == ["a", "b"]
    pipe.is_full = False
    await world.put("c")
    assert await watch.seen() == []
    assert len(pipe.pieces) == 1
    await watch.close()


async def test_paused_watch_holds_a_cursor_and_no_events():
    world = World()
    pipe, watch = await pushed(world)
    pipe.is_paused = True
    cursor = watch.stream._cursor
    for name in ("a", "b", "c"):
        await world.put(name)
        await world.clock.advance(1)
    assert (watch.stream._cursor, watch.stream._unsent_piece, pipe.pieces) == (cursor, b"", [])
    pipe.resume()
    assert [name for _, name, _ in await watch.event_keys()] == ["a", "b", "c"]
    await watch.close()


async def test_paused_watch_gets_410_when_the_ring_has_moved_past_its_cursor():
    world = World(ring=ChangeRing(0, changes_max=4))
    pipe, watch = await pushed(world)
    pipe.is_paused = True
    for number in range(10):
        await world.put(f"a{number}")
        await world.clock.advance(1)
    pipe.resume()
    (event,) = await watch.seen()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert watch.over


async def test_pushed_watch_has_bookmarks_and_ends():
    world = World()
    pipe = Pipe()
    watch = await world.watch(allowWatchBookmarks="1", timeoutSeconds="70")
    watch.stream.attach(pipe)
    await watch.seen(after_seconds=69)
    assert b"".join(pipe.pieces).count(b"BOOKMARK") == 2
    await watch.seen(after_seconds=2)
    assert watch.over


@pytest.mark.interpreted
async def test_failure_of_a_pushed_watch_ends_only_that_watch(monkeypatch):
    world = World()
    _pipe, watch = await pushed(world)
    other = await world.watch()
    await other.seen()

    def broken(*_: object) -> None:
        raise RuntimeError("a cell that cannot be made")

    monkeypatch.setattr(watch.stream, "_next", broken)
    await world.put("a")
    assert [name for _, name, _ in await other.event_keys()] == ["a"]
    with pytest.raises(RuntimeError):
        await watch._task
    await watch.stream.aclose()
    await other.close()
