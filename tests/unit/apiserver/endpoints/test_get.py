"""GET of one object."""

from __future__ import annotations

import json

import pytest
from tests.unit.apiserver.reading import METADATA, METADATA_LIST, PODS, TABLE, World, refusal, tree_of


async def test_the_object_is_whole():
    world = World()
    await world.put("a", data={"k": "v"})
    response = await world.get("a")
    metadata = {"resourceVersion": "1", "name": "a", "namespace": "ns", "uid": "uid-a"}
    assert json.loads(response.body) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": metadata,
        "data": {"k": "v"},
    }
    assert response.headers == [(b"content-type", b"application/json")]


async def test_a_missing_object_is_404():
    status = await refusal(World().get("a"))
    assert status["code"] == 404
    assert status["message"] == 'configmaps "a" not found'


@pytest.mark.parametrize("version", ["0", "1", "2"])
async def test_at_a_version_the_present_is_shown(version):
    world = World()
    await world.put("a", data={"k": "old"})
    await world.put("a", data={"k": "new"})
    tree = await tree_of(await world.get("a", resourceVersion=version))
    assert tree["data"] == {"k": "new"}


async def test_a_version_that_is_none_is_500():
    status = await refusal(World().get("a", resourceVersion="abc"))
    assert status["code"] == 500
    assert "reason" not in status


async def test_an_unusable_accept_comes_before_not_found():
    assert (await refusal(World().get("a", accept="text/html")))["code"] == 406


async def test_forms_of_one_object():
    world = World(PODS)
    await world.put("a", spec={"nodeName": "n"})
    yaml = await world.get("a", accept="application/yaml")
    assert yaml.body.startswith(b"apiVersion: v1\nkind: Pod\nmetadata:\n")
    table = await tree_of(await world.get("a", accept=TABLE))
    assert table["metadata"] == {"resourceVersion": "1"}
    assert [row["cells"] for row in table["rows"]] == [["a", "n"]]
    metadata = await tree_of(await world.get("a", accept=METADATA))
    assert metadata.keys() == {"kind", "apiVersion", "metadata"}
    assert (await refusal(world.get("a", accept=METADATA_LIST)))["code"] == 406


async def test_people_get_lines():
    world = World()
    await world.put("a")
    assert (await world.get("a", pretty="true")).body.startswith(b'{\n  "kind"')


async def test_a_remote_store_is_asked_how_new_it_is():
    world = World(remote=True)
    await world.put("a")
    assert (await world.get("a")).code == 200
