"""Requests about custom resources and their definitions whose size a client chooses: fields by schema, schemas, discovery."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
from tests.complexity.requests import SizedRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.testing import InProcessAPIServer

_GROUP = "complexity.example.com"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_OBJECTS = f"/apis/{_GROUP}/v1/namespaces/default/growns"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_TEXT = {"type": "string"}
_ITEM = {"type": "object", "properties": {"name": _TEXT, "value": {**_TEXT, "default": "d"}}, "required": ["name"]}
_MERGE = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"
#: A definition counts so much: it takes a few milliseconds to create.
_SIZE_PER_DEFINITION = 20
#: A rule likewise: it is compiled.
_SIZE_PER_RULE = 20


def _items(size: int) -> list[Tree]:
    return [{"name": f"n{number}"} for number in range(size)]


#: Fields of ``spec`` with their schemas, and their values of a size.
_FIELDS: dict[str, tuple[dict[str, Any], Callable[[int], Any]]] = {
    "atomicList": ({"type": "array", "items": _ITEM}, _items),
    "listMap": (
        {"type": "array", "items": _ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        _items,
    ),
    "set": (
        {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "set"},
        lambda size: [f"s{number}" for number in range(size)],
    ),
    "enumeration": (
        {"type": "array", "items": {"type": "integer"}, "enum": [[1]], "nullable": True},
        lambda size: list(range(size)),
    ),
    "map": ({"type": "object", "additionalProperties": _TEXT}, lambda size: {f"k{n}": "v" for n in range(size)}),
    "unknown": ({"type": "object", "properties": {"a": _TEXT}}, lambda size: {f"k{n}": "v" for n in range(size)}),
    "free": (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        lambda size: {f"k{n}": [{"a": n}] for n in range(size)},
    ),
    "pattern": ({**_TEXT, "pattern": "^(a|b)*$"}, lambda size: "ab" * size),
    "format": ({**_TEXT, "format": "hostname"}, lambda size: "a." * size),
    "wrongTypes": ({"type": "array", "items": {"type": "integer"}}, lambda size: ["a"] * size),
    "alternatives": (
        {"type": "array", "items": {**_TEXT, "anyOf": [{"pattern": "^x"}, {"maxLength": 5}]}},
        lambda size: ["abcdefgh"] * size,
    ),
    "rule": (
        {
            "type": "array",
            "maxItems": 20_000,
            "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self.all(x, x >= 0)"}],
        },
        lambda size: list(range(size)),
    ),
    "itemRule": (
        {
            "type": "array",
            "maxItems": 20_000,
            "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= 0"}]},
        },
        lambda size: list(range(size)),
    ),
}


def definition(plural: str = "growns", group: str = _GROUP, spec: Tree | None = None, **version: Any) -> Tree:
    """Return a definition; by default that of the objects of this module."""
    kind = plural.title()
    spec = spec or {"type": "object", "properties": {name: schema for name, (schema, _) in _FIELDS.items()}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "metadata": {"name": f"{plural}.{group}", "labels": {"grown": "yes"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema, **version}],
        },
    }


async def create_definition(server: InProcessAPIServer) -> None:
    """Create the definition of the objects of this module, and return when they are served."""
    body = msgspec.json.encode(definition())
    answer = await server.request("POST", _DEFINITIONS, body=body)
    assert answer.code == 201, answer.json()
    while (await server.request("GET", _OBJECTS)).code != 200:
        pass


def _object(field: str, size: int) -> Tree:
    return {"metadata": {"name": "sized"}, "spec": {field: _FIELDS[field][1](size)}}


def _of_field(field: str) -> Iterable[SizedRequest]:
    def create(size: int) -> tuple[str, str, str, Any]:
        return "POST", f"{_OBJECTS}?dryRun=All", "application/json", _typed(_object(field, size))

    is_valid = field not in ("enumeration", "wrongTypes", "alternatives", "format")
    yield SizedRequest(f"custom {field}: create", None, create, code=201 if is_valid else 422)
    if not is_valid:
        return

    def stored(size: int) -> Tree:
        return _typed(_object(field, size))

    def patch(size: int) -> tuple[str, str, str, Any]:
        return "PATCH", f"{_OBJECTS}/sized", _MERGE, {"metadata": {"labels": {"a": "b"}}}

    yield SizedRequest(f"custom {field}: merge patch", stored, patch, _OBJECTS)
    if field == "unknown":  # an apply of it fails
        return

    def apply(size: int) -> tuple[str, str, str, Any]:
        return "PATCH", f"{_OBJECTS}/sized?fieldManager=m&force=true", _APPLY, stored(size)

    yield SizedRequest(f"custom {field}: apply", stored, apply, _OBJECTS)


def _typed(tree: Tree) -> Tree:
    return {"apiVersion": f"{_GROUP}/v1", "kind": "Growns", **tree}


def _definition_of(make: Callable[[int], Tree]) -> Callable[[int], tuple[str, str, str, Any]]:
    return lambda size: ("POST", f"{_DEFINITIONS}?dryRun=All", "application/json", make(size))


def _properties(size: int) -> Tree:
    return {"type": "object", "properties": {f"p{n}": {**_TEXT, "default": "x"} for n in range(size)}}


def _ruled(size: int) -> Tree:
    rules = [{"rule": f"self.a != 'x{number}'"} for number in range(size // _SIZE_PER_RULE)]
    return {"type": "object", "properties": {"a": {**_TEXT, "maxLength": 9}}, "x-kubernetes-validations": rules}


_groups = count()


def _many_definitions(size: int) -> Iterable[tuple[str, Tree]]:
    group = f"g{next(_groups)}.example.com"  # definitions are deleted in the background
    for number in range(size // _SIZE_PER_DEFINITION):
        yield _DEFINITIONS, definition(f"d{number}", group, {"type": "object"})


def _get(path: str, accept: str = "application/json") -> Callable[[int], tuple[str, str, str, Any]]:
    return lambda size: ("GET", path, accept, None)


CUSTOM_REQUESTS: tuple[SizedRequest, ...] = (
    *(sized for field in _FIELDS for sized in _of_field(field)),
    SizedRequest(
        "definition: many fields", None, _definition_of(lambda n: definition("others", spec=_properties(n))), code=201
    ),
    SizedRequest(
        "definition: many rules", None, _definition_of(lambda n: definition("others", spec=_ruled(n))), code=201
    ),
    SizedRequest(
        "definition: many columns",
        None,
        _definition_of(
            lambda size: definition(
                "others",
                additionalPrinterColumns=[{"name": f"c{n}", "type": "string", "jsonPath": ".a"} for n in range(size)],
            )
        ),
        code=201,
    ),
    SizedRequest(
        "many definitions: aggregated discovery",
        None,
        _get("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        others=_many_definitions,
    ),
    SizedRequest("many definitions: list", None, _get(_DEFINITIONS), others=_many_definitions),
    SizedRequest("many definitions: Table", None, _get(_DEFINITIONS, _TABLE), others=_many_definitions),
    SizedRequest("many definitions: OpenAPI v2", None, _get("/openapi/v2"), others=_many_definitions),
)
