from __future__ import annotations

import asyncio

import pytest
from tests.unit.apiserver.reading import World

from steersman.apiserver.admission import lookups
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.asynckit.slices import next_turn


def lookup(world, read=whole):
    return Lookup(world.cache, read)


async def test_lookup_reads_an_object_once_until_it_changes():
    world = World()
    seen = []

    def read(tree):
        seen.append(tree)
        return tree.get("data")

    result = lookup(world, read)
    await world.put("a", data={"k": "v"})
    assert [await result.get("a", namespace="ns") for _ in range(3)] == [{"k": "v"}] * 3
    assert len(seen) == 1
    await world.put("a", data={"k": "w"})
    assert await result.get("a", namespace="ns") == {"k": "w"}


async def test_lookup_bounds_its_memo_by_bytes():
    world = World()
    result = lookup(world, lambda tree: tree["metadata"]["name"])
    for number in range(20):
        await world.put(f"c{number}", data={"k": "x" * 200_000})
        assert await result.get(f"c{number}", namespace="ns") == f"c{number}"
    assert 0 < len(result._cached) < 20
    assert 0 < result._cached_size.size_bytes <= lookups._CACHED_BYTES
    await world.put("large", data={"k": "x" * 500_000})
    assert await result.get("large", namespace="ns") == "large"
    assert f"{world.prefix}ns/large" not in result._cached
    for name in [key.rpartition("/")[2] for key in result._cached]:
        await world.delete(name)
        assert await result.get(name, namespace="ns") is None
    assert result._cached_size.size_bytes == 0


async def test_lookup_of_a_missing_object():
    world = World()
    result = lookup(world)
    assert await result.get("a", namespace="ns") is None
    assert await result.all() == ()
    await world.put("a")
    assert await result.get("a", namespace="ns") is not None
    await world.delete("a")
    assert await result.get("a", namespace="ns") is None


async def test_lookup_lists_one_or_all_namespaces():
    world = World()
    await world.put("a", "one")
    await world.put("b", "two")
    result = lookup(world, lambda tree: tree["metadata"]["name"])
    assert await result.all() == ("a", "b")
    assert await result.all(namespace="two") == ("b",)
    assert await result.all(namespace="three") == ()


@pytest.mark.interpreted
async def test_list_of_many_objects_of_a_namespace_gives_the_loop_its_turns(monkeypatch):
    monkeypatch.setattr(lookups, "_READ_AT_ONCE", 2)
    world = World()
    for number in range(5):
        await world.put(f"c{number}")
    turns = []

    async def count() -> None:
        while True:
            turns.append(len(seen))
            await next_turn()

    seen = []
    other = asyncio.ensure_future(count())
    names = await lookup(world, lambda tree: seen.append(tree) or tree["metadata"]["name"]).all(namespace="ns")
    other.cancel()
    assert list(names) == [f"c{number}" for number in range(5)]
    assert turns[-2:] == [2, 4]


async def test_list_is_the_same_sequence_until_an_object_changes():
    world = World()
    result = lookup(world, lambda tree: tree.get("data"))
    await world.put("a", data={"k": "v"})
    first = await result.all()
    assert await result.all() is first
    await world.put("a", data={"k": "w"})
    assert await result.all() == ({"k": "w"},)
    await world.put("b")
    assert len(await result.all()) == 2
    await world.delete("a")
    assert await result.all() == (None,)
