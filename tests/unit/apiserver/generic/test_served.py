"""A resource in one version."""

from __future__ import annotations

import json

import msgspec
import pytest
from tests.unit.apiserver.reading import CONFIG_MAPS, World


@pytest.mark.parametrize("from_storage", [None, lambda tree: {**tree, "apiVersion": "v2", "data": {"new": "form"}}])
async def test_encoded_bytes_and_tree_are_the_same_object(from_storage):
    world = World(from_storage=from_storage)
    await world.put("a", data={"old": "form"})
    await world.cache.ready()
    entry = world.cache.snapshot()[0]
    assert json.loads(world.served.object_bytes(entry)) == world.served.tree(entry)


async def test_list_kind_is_the_declared_one_or_kind_and_list():
    assert World().served.list_kind == "ConfigMapList"
    assert World(msgspec.structs.replace(CONFIG_MAPS, declared_list_kind="Maps")).served.list_kind == "Maps"
