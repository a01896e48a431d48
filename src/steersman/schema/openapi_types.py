"""Type model of a custom resource, from the OpenAPI schema of its definition.

The schema must be structural, as the server requires: types occur in `properties`, `items` and `additionalProperties`
only; the logical parts (`allOf`, `anyOf`, …) do not define structure and are ignored.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.typemodel import Field, ListOf, ListType, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.schema.loader import OBJECT_META, struct

_ANY: Final = Scalar(ScalarKind.ANY)
_STRING: Final = Scalar(ScalarKind.STRING)
_FORMATTED_STRING: Final = Scalar(ScalarKind.STRING, has_format=True)
_INT_OR_STRING: Final = Scalar(ScalarKind.INT_OR_STRING)
_SCALARS: Final = {
    "string": _STRING,
    "boolean": Scalar(ScalarKind.BOOLEAN),
    "number": Scalar(ScalarKind.NUMBER),
    "integer": Scalar(ScalarKind.INT64),
}
_INT32: Final = Scalar(ScalarKind.INT32)


def from_openapi(schema: dict[str, Any], name: str) -> Struct:
    """Return the type of a custom resource, with `apiVersion`, `kind` and the built-in `metadata`.

    `name` is the kind: nested types are named after their path in it, `Shirt.spec.sizes`.
    """
    return _struct(schema, name, is_resource=True)


def _type(schema: dict[str, Any], name: str) -> Type:
    if schema.get("x-kubernetes-int-or-string"):
        return _INT_OR_STRING
    if schema.get("x-kubernetes-embedded-resource"):
        return _struct(schema, name, is_resource=True)
    match schema.get("type"):
        case "object":
            return _object(schema, name)
        case "array":
            return _list(schema, name)
        case "integer" if schema.get("format") == "int32":
            return _INT32
        case "string" if schema.get("format") not in (None, "", "byte"):
            return _FORMATTED_STRING
        case str(kind) if kind in _SCALARS:
            return _SCALARS[kind]
        case _:
            return _ANY


def _object(schema: dict[str, Any], name: str) -> Type:
    values = schema.get("additionalProperties")
    if values is None or values is False or schema.get("properties"):
        return _struct(schema, name, is_resource=False)
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    return MapOf(_ANY if values is True else _type(values, f"{name}.*"), atomic=atomic)


def _struct(schema: dict[str, Any], name: str, *, is_resource: bool) -> Struct:
    required = frozenset(schema.get("required", ()))
    fields = {
        key: Field(key, _type(below, f"{name}.{key}"), mandatory=key in required, default=below.get("default"))
        for key, below in schema.get("properties", {}).items()
    }
    if is_resource:
        fields |= {"apiVersion": Field("apiVersion", _STRING), "kind": Field("kind", _STRING)}
        fields["metadata"] = Field("metadata", struct(OBJECT_META))
    return Struct(
        name,
        fields,
        go_name=name,
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        preserve_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
    )


def _list(schema: dict[str, Any], name: str) -> ListOf:
    item = schema.get("items") or {}
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    properties = item.get("properties", {})
    return ListOf(
        _type(item, f"{name}[]"),
        list_type=ListType(schema.get("x-kubernetes-list-type", "atomic")),
        keys=keys,
        key_defaults={key: properties[key]["default"] for key in keys if "default" in properties.get(key, {})},
    )
