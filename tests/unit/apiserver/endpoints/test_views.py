"""Views of single objects; what they make of lists and events is tested through the verbs."""

from __future__ import annotations

import json

import pytest
from tests.unit.apiserver.reading import PODS, TABLE, World

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.negotiation import Form, Shape
from steersman.apiserver.endpoints.views import (
    MetadataView,
    ObjectView,
    TableView,
    bookmark_tree,
    tree_bytes,
    view_of,
)
from steersman.apiserver.generic.strategy import Column


async def one(world: World):
    await world.put("a", labels={"app": "x"}, spec={"nodeName": "n"})
    await world.cache.ready()
    return world.cache.snapshot()[0]


async def test_views_of_entries_equal_views_of_trees():
    world = World(PODS)
    entry = await one(world)
    tree = world.served.tree(entry)
    for view in (
        ObjectView(world.served),
        MetadataView(world.served, "meta.k8s.io/v1"),
        TableView(world.served, "meta.k8s.io/v1", include="Object"),
        TableView(world.served, "meta.k8s.io/v1", include="None"),
        TableView(world.served, "meta.k8s.io/v1", include=""),
    ):
        assert json.loads(view.whole(entry)) == json.loads(view.whole_of(tree))


async def test_list_as_partial_object_metadata_is_406():
    world = World(PODS)
    for shape, is_list in ((Shape.METADATA, True), (Shape.METADATA_LIST, False)):
        with pytest.raises(StatusError) as refused:
            view_of(world.served, Form(shape=shape), is_list=is_list)
        assert refused.value.code == 406


async def test_bookmarks_have_the_version_and_fields_without_omitempty():
    tree = bookmark_tree(World(PODS).served, 7, ends_initial_events=True)
    assert tree == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}},
        "spec": {"containers": None},
        "status": {},
    }


@pytest.mark.parametrize(
    ("shape", "include", "shown"),
    [
        (Shape.TABLE, "", "PartialObjectMetadata"),
        (Shape.TABLE, "Object", "Scale"),
        (Shape.TABLE, "None", None),
    ],
)
def test_kinds_without_a_resource_have_tables(shape, include, shown):
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "a", "resourceVersion": "3"}}
    raw = tree_bytes(scale, Form(shape=shape), columns=[Column("Name")], cells=["a"], include=include)
    table = json.loads(raw)
    assert table["metadata"] == {"resourceVersion": "3"}
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name"]
    assert table["rows"][0]["cells"] == ["a"]
    assert (table["rows"][0]["object"] or {}).get("kind") == shown


def test_kinds_without_a_resource_have_partial_metadata():
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "a"}, "spec": {}}
    raw = tree_bytes(scale, Form(shape=Shape.METADATA), columns=(), cells=[], include="")
    assert json.loads(raw) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a"},
    }


async def test_table_sorts_rows_of_kinds_with_a_sort_key(monkeypatch):
    world = World(PODS)
    for name, node in (("a", "2"), ("b", "1")):
        await world.put(name, spec={"nodeName": node})
    strategy = type(world.served.strategy)
    monkeypatch.setattr(strategy, "row_sort_key", lambda _, obj: obj["spec"]["nodeName"])
    assert [row["cells"][0] for row in (await world.items(accept=TABLE))["rows"]] == ["a", "b"]
    monkeypatch.setattr(strategy, "sorts_rows", True)
    assert [row["cells"][0] for row in (await world.items(accept=TABLE))["rows"]] == ["b", "a"]
