"""Documents of aggregated API servers: rejected with the declared errors, or published in discovery and OpenAPI without an exception.

The first byte chooses the document: ``G`` aggregated discovery, ``R`` a resource list, ``I`` the OpenAPI index, ``S`` Swagger.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from tests.fuzz.choices import Choices

from steersman.apimachinery.codec import encode
from steersman.apimachinery.yaml_codec import encode_yaml
from steersman.apiserver.aggregation import backend_discovery, backend_openapi
from steersman.apiserver.discovery import documents
from steersman.apiserver.discovery.catalog import Catalog, RemoteVersion
from steersman.apiserver.openapi.document import Document
from steersman.apiserver.openapi.remote import merge
from steersman.schema.protobuf import encode_body
from steersman.schema.resources import table

GROUP, VERSION, PREFIX = "m.io", "v1", "/apis/m.io/v1"
TOKENS = (b"G", b"R", b"I", b"S", b'{"kind":"APIGroupDiscoveryList","items":[', b'{"metadata":{"name":"m.io"},"versions":[', b'{"version":"v1","resources":[',
          b'{"resource":"a","scope":"Cluster","verbs":["get"],"responseKind":{"kind":"A"}}', b'"subresources":[{"subresource":"s"}]', b'{"kind":"APIResourceList","resources":[',
          b'{"name":"a","namespaced":true,"kind":"A","verbs":["list"]}', b'{"name":"a/status"}', b'{"paths":{"apis/m.io/v1":{"serverRelativeURL":"/x"}}}', b'{"swagger":"2.0","paths":{',
          b'"/apis/m.io/v1/a":{"get":{"$ref":"#/definitions/A"}}', b'"definitions":{"A":{"$ref":"#/definitions/A"}}', b"]}", b"}", b",", b"[[[[", b'"\\ud800"', b"1e999")  # fmt: skip


def run(data: bytes) -> None:
    readers = {b"G": _discovery, b"R": _resource_list, b"I": _index, b"S": _swagger}
    reader = readers.get(data[:1])
    if reader is not None:
        reader(data[1:])
        return
    choices = Choices(data)
    reader, draw = choices.pick(((_discovery, _groups), (_resource_list, _resources), (_swagger, _definitions)))
    reader(msgspec.json.encode(draw(choices)))


def _discovery(body: bytes) -> None:
    try:
        document = backend_discovery.read_document(body, "APIGroupDiscoveryList")
        rows = backend_discovery.resources_in(document, GROUP, VERSION)
    except backend_discovery.DiscoveryError:
        return
    if rows is not None:
        _publish(rows)


def _resource_list(body: bytes) -> None:
    try:
        document = backend_discovery.read_document(body, "APIResourceList")
    except backend_discovery.DiscoveryError:
        return
    _publish(backend_discovery.convert_resource_list(document))


def _publish(rows: tuple[dict[str, Any], ...]) -> None:
    catalog = Catalog(table())
    for _ in range(2):
        catalog.set_remote([RemoteVersion(GROUP, VERSION, 100, 10, rows)])
    tree = documents.aggregated(catalog.groups())
    encode(tree)
    encode_yaml(tree)
    encode_body(tree)


def _index(body: bytes) -> None:
    try:
        url = backend_openapi.address_in(body, PREFIX)
    except (msgspec.MsgspecError, ValueError):
        return
    encode(url)


def _swagger(body: bytes) -> None:
    try:
        remote, converted = backend_openapi.read_swagger(body, PREFIX, has_v3=False)
    except backend_openapi.UNREADABLE:
        return
    assert converted is not None
    assert converted.size == len(b"".join(converted.json))
    local = Document({"/apis/": b"{}"}, {"A": b'{"type":"string"}'}, is_v3=False)
    merged = merge(local, [remote, remote])
    assert all(map(msgspec.json.decode, merged.definitions.values())) or merged.definitions


def _groups(choices: Choices) -> Any:
    rows = [_some(choices, {"resource": choices.text(), "scope": "Cluster", "singularResource": "a", "verbs": ["get"], "responseKind": {"kind": "A", "group": "", "version": ""},
                            "shortNames": ["x"], "categories": ["all"], "subresources": [_some(choices, {"subresource": "status", "verbs": ["get"], "responseKind": {"kind": "A"},
                            "acceptedTypes": [{"group": "g", "version": "v", "kind": "k"}]})]}) for _ in range(choices.below(4))]  # fmt: skip
    version = _some(choices, {"version": VERSION, "resources": rows})
    return _some(choices, {"kind": "APIGroupDiscoveryList", "items": [_some(choices, {"metadata": _some(choices, {"name": GROUP}), "versions": [version]})]})  # fmt: skip


def _resources(choices: Choices) -> Any:
    rows = [_some(choices, {"name": choices.pick(("a", "a/status", "b/x/y", "", "/")), "singularName": "a", "namespaced": True, "kind": "A", "verbs": ["get"],
                            "shortNames": ["x"], "categories": ["all"], "group": "g", "version": "v"}) for _ in range(choices.below(5))]  # fmt: skip
    return _some(choices, {"kind": "APIResourceList", "resources": rows})


def _definitions(choices: Choices) -> Any:
    draw = partial(choices.tree, 3)
    names = ("A", "B", "io.k8s.x", "")
    definitions = {
        choices.pick(names): {"properties": {"a": {"$ref": f"#/definitions/{choices.pick(names)}"}}, "x": draw()}
        for _ in range(choices.below(5))
    }
    paths = {choices.pick((PREFIX, f"{PREFIX}/a", "/apis/m.io/v10/a", "")): {"get": {"schema": {"$ref": f"#/definitions/{choices.pick(names)}"}, "y": draw()}} for _ in range(choices.below(4))}  # fmt: skip
    return _some(choices, {"swagger": "2.0", "paths": paths, "definitions": definitions})


def _some(choices: Choices, tree: dict[str, Any]) -> dict[str, Any]:
    """Replace one in eight values, and drop one in sixteen."""
    for name in list(tree):
        if choices.one_in(8):
            tree[name] = choices.tree(3)
        elif choices.one_in(16):
            del tree[name]
    return tree
