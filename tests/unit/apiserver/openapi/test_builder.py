"""The documents as a whole: complete, and without dangling references."""

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.openapi.builder import Builder
from steersman.apiserver.openapi.document import Document
from steersman.apiserver.openapi.sources import GroupVersionSource, Snapshot, Sources
from steersman.schema.resources import Resource, table


def snapshot(catalog: Catalog, **schemas: dict[str, Any]) -> Snapshot:
    loaded = {name: SimpleNamespace(load=partial(dict, schema)) for name, schema in schemas.items()}
    return Sources(catalog, lambda resource: loaded.get(resource.name)).current()


def tree(document: Document) -> dict[str, Any]:
    return msgspec.json.decode(b"".join(document.json))


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


@pytest.fixture(scope="module")
def swagger() -> dict[str, Any]:
    return tree(Builder(b"").swagger(snapshot(Catalog(table())).group_versions))


def test_swagger_has_no_dangling_reference(swagger):
    assert {r.removeprefix("#/definitions/") for r in references(swagger)} <= swagger["definitions"].keys()


def test_openapi3_documents_have_no_dangling_reference():
    builder = Builder(b"")
    for path, source in snapshot(Catalog(table())).by_path.items():
        document = tree(builder.discovery(path) if source is None else builder.openapi3(source))
        keys = document["components"]["schemas"].keys()
        assert {r.removeprefix("#/components/schemas/") for r in references(document)} <= keys, path
        assert document["paths"], path


def test_definitions_have_kinds_and_list_merge_keys(swagger):
    definitions = swagger["definitions"]
    service = definitions["io.k8s.api.core.v1.Service"]
    assert service["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Service", "version": "v1"}]
    ports = definitions["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"]
    assert ports["x-kubernetes-patch-merge-key"] == "port"
    assert ports["x-kubernetes-list-map-keys"] == ["port", "protocol"]


def test_fields_have_descriptions(swagger):
    replicas = swagger["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"]
    assert "desired pods" in replicas["description"]


def test_operation_ids_are_unique(swagger):
    ids = [o["operationId"] for item in swagger["paths"].values() for m, o in item.items() if m != "parameters"]
    assert len(ids) == len(set(ids))


GADGETS = Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get", "list", "patch"))
SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}}}


def with_gadgets() -> Catalog:
    catalog = Catalog(table())
    catalog.add(GADGETS)
    return catalog


def test_openapi3_publishes_custom_kinds_with_their_schema():
    source = snapshot(with_gadgets(), gadgets=SCHEMA).by_path["apis/example.com/v1"]
    assert isinstance(source, GroupVersionSource)
    document = tree(Builder(b"").openapi3(source))
    definition = document["components"]["schemas"]["com.example.v1.Gadget"]
    assert definition["properties"]["size"] == {"type": "integer"}
    assert "com.example.v1.GadgetList" in document["components"]["schemas"]


def test_documents_publish_selectable_fields_and_list_kind_of_custom_kinds():
    catalog = Catalog(table())
    gadgets = msgspec.structs.replace(GADGETS, declared_list_kind="GadgetSet", selectable_fields=(".size",))
    catalog.add(gadgets)
    result = snapshot(catalog, gadgets=SCHEMA)
    source = result.by_path["apis/example.com/v1"]
    assert isinstance(source, GroupVersionSource)
    v3 = tree(Builder(b"").openapi3(source))["components"]["schemas"]
    v2 = tree(Builder(b"").swagger(result.group_versions))["definitions"]
    for definitions in (v2, v3):
        assert definitions["com.example.v1.Gadget"]["x-kubernetes-selectable-fields"] == [{"fieldPath": "size"}]
        assert "com.example.v1.GadgetSet" in definitions


def test_both_versions_publish_no_strategic_merge_patch_of_custom_kinds():
    result = snapshot(with_gadgets(), gadgets=SCHEMA)
    path = "/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}"
    source = result.by_path["apis/example.com/v1"]
    assert isinstance(source, GroupVersionSource)
    v3 = tree(Builder(b"").openapi3(source))["paths"][path]["patch"]["requestBody"]["content"]
    v2 = tree(Builder(b"").swagger(result.group_versions))["paths"][path]["patch"]["consumes"]
    assert list(v3) == v2
    assert "application/strategic-merge-patch+json" not in v2
    assert "application/merge-patch+json" in v2


def test_swagger_reuses_the_parts_of_group_versions_that_did_not_change(monkeypatch):
    builder, catalog = Builder(b""), with_gadgets()
    loaded = SimpleNamespace(load=lambda: SCHEMA)
    sources = Sources(catalog, lambda resource: loaded if resource.name == "gadgets" else None)
    builder.swagger(sources.current().group_versions)
    built: list[str] = []
    parts_of = builder._parts_of
    monkeypatch.setattr(builder, "_parts_of", lambda source: built.append(source.path) or parts_of(source))
    catalog.add(msgspec.structs.replace(GADGETS, verbs=("get",)))
    document = tree(builder.swagger(sources.current().group_versions))
    assert built == ["apis/example.com/v1"]
    assert document["definitions"]["com.example.v1.Gadget"]["properties"]["size"] == {"type": "integer"}


def test_hash_of_built_in_documents_covers_renderer_and_resources():
    catalog = Catalog(table())
    source = snapshot(catalog).by_path["apis/apps/v1"]
    catalog.remove(next(r for r in table().resources if r.api_version == "apps/v1" and r.name == "deployments"))
    less = snapshot(catalog).by_path["apis/apps/v1"]
    builders = {name: Builder(name) for name in (b"1", b"2")}
    etags = {builders[name].openapi3(s).etag for name in builders for s in (source, less)}
    assert len(etags) == 4
    assert len({builder.discovery("api").etag for builder in builders.values()}) == 2


def test_hash_of_custom_documents_does_not_depend_on_the_renderer():
    source = snapshot(with_gadgets(), gadgets=SCHEMA).by_path["apis/example.com/v1"]
    assert Builder(b"1").openapi3(source).etag == Builder(b"2").openapi3(source).etag
