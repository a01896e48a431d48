"""GET of one object."""

from __future__ import annotations

import json

import pytest
from tests.unit.apiserver.reading import METADATA, METADATA_LIST, PODS, TABLE, World, refusal, tree_of


async def test_get_returns_the_whole_object():
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


async def test_get_of_a_missing_object_is_404():
    status = await refusal(World().get("a"))
    assert status["code"] == 404
    assert status["message"] == 'configmaps "a" not found'


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (".", "may not be '.'"),
        ("..", "may not be '..'"),
        ("a%b", "may not contain '%'"),
        ("a/%", "may not contain '/';may not contain '%'"),
    ],
)
async def test_get_of_a_name_that_no_object_can_have_is_400(name, fault):
    status = await refusal(World().get(name, resourceVersion="x"))
    assert (status["code"], status["message"]) == (400, f'Name parameter invalid: "{name}": {fault}')


@pytest.mark.parametrize("version", ["0", "1", "2"])
async def test_get_at_a_resource_version_returns_the_current_object(version):
    world = World()
    await world.put("a", data={"k": "old"})
    await world.put("a", data={"k": "new"})
    tree = await tree_of(await world.get("a", resourceVersion=version))
    assert tree["data"] == {"k": "new"}


async def test_get_with_an_invalid_resource_version_is_500():
    status = await refusal(World().get("a", resourceVersion="abc"))
    assert status["code"] == 500
    assert "reason" not in status


async def test_get_with_an_unacceptable_media_type_is_406_before_404():
    assert (await refusal(World().get("a", accept="text/html")))["code"] == 406


async def test_get_returns_every_form():
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


async def test_get_with_pretty_is_indented():
    world = World()
    await world.put("a")
    assert (await world.get("a", pretty="true")).body.startswith(b'{\n  "kind"')


async def test_get_reads_the_revision_of_a_shared_store():
    world = World(remote=True)
    await world.put("a")
    assert (await world.get("a")).code == 200
