"""Snapshots of the catalog."""

import msgspec

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.openapi.sources import Sources
from steersman.schema.resources import Resource, table

GADGETS = Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get", "list"))


def changed_paths(sources: Sources, change) -> set[str]:
    before = sources.current().by_path
    change()
    after = sources.current().by_path
    return {path for path in before.keys() | after.keys() if before.get(path, "") is not after.get(path, "")}


def test_snapshot_is_the_same_object_until_the_catalog_changes():
    catalog = Catalog(table())
    sources = Sources(catalog, lambda _resource: None)
    first = sources.current()
    assert sources.current() is first
    catalog.add(GADGETS)
    assert sources.current() is not first


def test_snapshot_is_the_same_object_when_a_resource_is_served_as_before():
    catalog = Catalog(table())
    catalog.add(GADGETS)
    sources = Sources(catalog, lambda _resource: None)
    first = sources.current()
    catalog.add(GADGETS)
    assert sources.current() is first


def test_change_of_a_resource_replaces_the_source_of_its_group_version_only():
    catalog = Catalog(table())
    sources = Sources(catalog, lambda _resource: None)
    own = "apis/example.com/v1"
    assert changed_paths(sources, lambda: catalog.add(GADGETS)) == {own, "apis/example.com"}
    assert changed_paths(sources, lambda: catalog.add(msgspec.structs.replace(GADGETS, verbs=("get",)))) == {own}
    assert changed_paths(sources, lambda: catalog.remove(GADGETS)) == {own, "apis/example.com"}


def test_change_of_a_schema_replaces_the_source_of_its_group_version_only():
    catalog = Catalog(table())
    catalog.add(GADGETS)
    schemas = {"gadgets": object()}
    sources = Sources(catalog, lambda resource: schemas.get(resource.name))

    def change() -> None:
        schemas["gadgets"] = object()
        catalog.add(GADGETS)

    assert changed_paths(sources, change) == {"apis/example.com/v1"}


def test_snapshot_keeps_what_it_was_taken_from_when_the_catalog_changes():
    catalog = Catalog(table())
    catalog.add(GADGETS)
    source = Sources(catalog, lambda _resource: None).current().by_path["apis/example.com/v1"]
    catalog.remove(GADGETS)
    assert source is not None
    assert source.resources == (GADGETS,)
