"""The documents as a whole: complete, and without dangling references."""

from collections.abc import Iterator
from typing import Any

import pytest

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.openapi.builder import Builder
from steersman.schema.resources import Resource, table


def no_custom(_gvk: tuple[str, str, str], *, v3: bool) -> None:
    return None


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
def builder() -> Builder:
    return Builder(Catalog(table()), no_custom)


@pytest.fixture(scope="module")
def swagger(builder: Builder) -> dict[str, Any]:
    return builder.swagger()


def test_version_2_has_no_dangling_reference(swagger):
    assert {r.removeprefix("#/definitions/") for r in references(swagger)} <= swagger["definitions"].keys()


def test_no_document_of_version_3_has_a_dangling_reference(builder):
    for path in builder.openapi3_paths():
        document = builder.openapi3(path)
        known = document["components"]["schemas"].keys()
        assert {r.removeprefix("#/components/schemas/") for r in references(document)} <= known, path


def test_kinds_carry_their_names_and_lists_their_merge_keys(swagger):
    definitions = swagger["definitions"]
    service = definitions["io.k8s.api.core.v1.Service"]
    assert service["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Service", "version": "v1"}]
    ports = definitions["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"]
    assert ports["x-kubernetes-patch-merge-key"] == "port"
    assert ports["x-kubernetes-list-map-keys"] == ["port", "protocol"]


def test_fields_have_descriptions_to_explain(swagger):
    replicas = swagger["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"]
    assert "desired pods" in replicas["description"]


def test_operation_ids_are_unique(swagger):
    ids = [o["operationId"] for item in swagger["paths"].values() for m, o in item.items() if m != "parameters"]
    assert len(ids) == len(set(ids))


def test_unknown_paths_have_no_document(builder):
    assert builder.openapi3("apis/none/v1") is None


def test_a_custom_kind_appears_with_its_schema():
    catalog = Catalog(table())
    catalog.add(Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get", "list")))
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    builder = Builder(catalog, lambda gvk, *, v3: schema if gvk[0] == "example.com" else None)
    document = builder.openapi3("apis/example.com/v1")
    assert document is not None
    assert document["components"]["schemas"]["com.example.v1.Gadget"] == schema
    assert "com.example.v1.GadgetList" in document["components"]["schemas"]


def test_a_fingerprint_changes_with_the_resources_of_its_version_only():
    catalog = Catalog(table())
    builder = Builder(catalog, no_custom)
    apps, everything = builder.fingerprint("apis/apps/v1"), builder.fingerprint("")
    catalog.add(Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get",)))
    assert builder.fingerprint("apis/apps/v1") == apps
    assert builder.fingerprint("") != everything
