"""A resource in one of its versions."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apiserver.registry.served import ServedResource


async def served_as_it_is_stored(server: Server) -> Any:
    served = server.registry.get("", "v1", "configmaps")
    await served.cache.ready()
    return served


async def test_bytes_and_tree_are_the_same_whole_object():
    async with Server() as server:
        made = await server.make(CONFIG_MAPS, data={"k": "v"})
        served = await served_as_it_is_stored(server)
        entry = served.cache.get(served.cache.key("default", "a"))
        assert json.loads(served.object_bytes(entry)) == served.tree(entry) == made


async def test_objects_begin_with_kind_and_version():
    async with Server() as server:
        await server.make(CONFIG_MAPS)
        served = await served_as_it_is_stored(server)
        entry = served.cache.get(served.cache.key("default", "a"))
        assert served.object_bytes(entry).startswith(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{')


async def test_another_version_is_made_anew_each_time():
    async with Server() as server:
        await server.make(CONFIG_MAPS, data={"k": "v"})
        stored = await served_as_it_is_stored(server)

        def shout(tree: Any) -> Any:
            tree["data"]["k"] += "!"
            return tree

        other = ServedResource(
            stored.resource,
            storage=stored.storage,
            cache=stored.cache,
            strategy=stored.strategy,
            struct=None,
            from_storage=shout,
        )
        entry = stored.cache.get(stored.cache.key("default", "a"))
        assert [json.loads(other.object_bytes(entry))["data"], other.tree(entry)["data"]] == [{"k": "v!"}] * 2


async def test_a_list_is_named_after_the_kind_unless_it_says_otherwise():
    async with Server() as server:
        stored = await served_as_it_is_stored(server)
        parts = {"storage": stored.storage, "cache": stored.cache, "strategy": stored.strategy, "struct": None}
        assert ServedResource(stored.resource, **parts).list_kind == "ConfigMapList"
        assert ServedResource(stored.resource, list_kind="Maps", **parts).list_kind == "Maps"
