from __future__ import annotations

from tests.unit.apiserver.reading import World

from steersman.apiserver.admission.lookups import Lookup, whole


def lookup(world, read=whole):
    return Lookup(world.cache, read)


async def test_an_object_is_read_once_until_it_changes():
    world = World()
    seen = []

    def read(tree):
        seen.append(tree)
        return tree.get("data")

    found = lookup(world, read)
    await world.put("a", data={"k": "v"})
    assert [await found.get("a", namespace="ns") for _ in range(3)] == [{"k": "v"}] * 3
    assert len(seen) == 1
    await world.put("a", data={"k": "w"})
    assert await found.get("a", namespace="ns") == {"k": "w"}


async def test_what_is_not_there():
    world = World()
    found = lookup(world)
    assert await found.get("a", namespace="ns") is None
    assert await found.all() == ()
    await world.put("a")
    assert await found.get("a", namespace="ns") is not None
    await world.delete("a")
    assert await found.get("a", namespace="ns") is None


async def test_all_of_a_namespace_or_of_all():
    world = World()
    await world.put("a", "one")
    await world.put("b", "two")
    found = lookup(world, lambda tree: tree["metadata"]["name"])
    assert await found.all() == ("a", "b")
    assert await found.all(namespace="two") == ("b",)
    assert await found.all(namespace="three") == ()


async def test_all_is_the_same_sequence_until_something_changes():
    world = World()
    found = lookup(world, lambda tree: tree.get("data"))
    await world.put("a", data={"k": "v"})
    first = await found.all()
    assert await found.all() is first
    await world.put("a", data={"k": "w"})
    assert await found.all() == ({"k": "w"},)
    await world.put("b")
    assert len(await found.all()) == 2
    await world.delete("a")
    assert await found.all() == (None,)
