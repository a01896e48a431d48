"""Validation that schemas are structural: the type of every field is specified once, outside of ``allOf``, ``anyOf``
and so on.

Pruning, defaulting and server-side apply depend on it, as they know the structure of an object without evaluation.
Upstream: ``pkg/apiserver/schema``.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.regexp import RegexpError, compile_regexp
from steersman.apimachinery.workmeter import spend
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.schema_form import (
    UNITS_PER_SCHEMA,
    set_fields,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_INTEGER_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_LISTS: Final = ("anyOf", "allOf", "oneOf")

#: Keywords forbidden within logical junctors, and the value they must have instead.
_FORBIDDEN_IN_LOGIC: Final[Mapping[str, str]] = {
    "type": "empty",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    _PRESERVE: "false",
    _EMBEDDED: "false",
    _INT_OR_STRING: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
#: Keywords that structural schemas do not support.
_UNSUPPORTED: Final = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
#: Fields of the schema of the root's metadata, by Go's names, that are allowed or that upstream drops.
_IGNORED_IN_METADATA: Final = frozenset(("Type", "Default", "ExternalDocs", "Example"))


class _Level(Enum):
    """Level of a schema, which determines the error for a missing type."""

    ROOT = "at the root"
    ITEM = "for specified array items"
    FIELD = "for specified object fields"


def check_convertible(schema: Any) -> str:
    """Return why a schema cannot be converted to a structural one; empty if it can."""
    if not isinstance(schema, dict):
        return ""
    spend(UNITS_PER_SCHEMA)
    for key, shown in _UNSUPPORTED:
        if schema.get(key):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    items = schema.get("items")
    if isinstance(items, list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    logic = [part for key in _LISTS for part in schema.get(key) or ()]
    below = [schema.get("not"), *logic, items, *(schema.get("properties") or {}).values()]
    faults = (check_convertible(part) for part in (*below, schema.get("additionalProperties")))
    return next(filter(None, faults), "")


def validate_structural(schema: Tree, path: Path) -> list[FieldError]:
    """Validate that a schema is structural. Errors are sorted by text."""
    return sorted(
        [*_validate_node(schema, _Level.ROOT, path), *_validate_complete(schema, schema, path, path)], key=str
    )


def _validate_node(schema: Tree, level: _Level, path: Path) -> Iterator[FieldError]:
    spend(UNITS_PER_SCHEMA)
    items, others = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and items is None:
        yield field.required(path.child("items"), "must be specified")
    if items is not None:
        yield from _validate_node(items, _Level.ITEM, path.child("items"))
    for name, below in (schema.get("properties") or {}).items():
        yield from _validate_node(below, _Level.FIELD, path.child("properties").key(name))
    if others is not None and level is _Level.ROOT:
        yield field.forbidden(path.child("additionalProperties"), "must not be used at the root")
    if isinstance(others, dict):
        yield from _validate_node(others, _Level.FIELD, path.child("additionalProperties"))
    yield from _validate_extensions(schema, path)
    yield from _validate_junctors(schema, path)
    yield from _validate_type(schema, level, path)
    yield from _validate_resource(schema, level, path)


def _validate_extensions(schema: Tree, path: Path) -> Iterator[FieldError]:
    if schema.get(_INT_OR_STRING):
        for name in (_PRESERVE, _EMBEDDED):
            if schema.get(name):
                yield field.invalid(path.child(name), True, f"must be false if {_INT_OR_STRING} is true")


def _validate_type(schema: Tree, level: _Level, path: Path) -> Iterator[FieldError]:
    type_, type_path = schema.get("type"), path.child("type")
    if schema.get(_EMBEDDED) and type_ != "object":
        detail = f"must be object if {_EMBEDDED} is true"
        yield field.invalid(type_path, type_, detail) if type_ else field.required(type_path, detail)
    elif not type_ and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        yield field.required(type_path, f"must not be empty {level.value}")
    if level is _Level.ROOT and type_ and type_ != "object":
        yield field.invalid(type_path, type_, "must be object at the root")


def _validate_resource(schema: Tree, level: _Level, path: Path) -> Iterator[FieldError]:
    """Validate the schemas of ``apiVersion``, ``kind`` and ``metadata``."""
    properties = schema.get("properties") or {}
    embedded = bool(schema.get(_EMBEDDED))
    is_resource = level is _Level.ROOT or embedded
    if embedded and schema.get("additionalProperties") is not None:
        yield field.forbidden(path.child("additionalProperties"), f"must not be used if {_EMBEDDED} is set")
    for name, type_ in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if is_resource and name in properties and properties[name].get("type") != type_:
            type_path = path.child("properties").key(name).child("type")
            yield field.invalid(type_path, properties[name].get("type", ""), f"must be {type_}")
    if level is _Level.ROOT and "metadata" in properties and _restricts_other_metadata(properties["metadata"]):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield field.forbidden(path.child("properties").key("metadata"), detail)
    if embedded and not schema.get(_PRESERVE) and not properties:
        detail = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        yield field.required(path.child("properties"), detail)


def _restricts_other_metadata(metadata: Tree) -> bool:
    fields = set(set_fields(metadata)) - _IGNORED_IN_METADATA
    if metadata.get("properties", {}).keys() <= {"name", "generateName"}:
        fields.discard("Properties")
    return bool(fields)


def _validate_junctors(schema: Tree, path: Path, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    any_of, all_of = schema.get("anyOf") or (), schema.get("allOf") or ()
    if any_of != _INTEGER_OR_STRING and not skip_any_of:
        for position, part in enumerate(any_of):
            yield from _validate_in_junctor(part, path.child("anyOf").index(position))
    for position, part in enumerate(all_of):
        yield from _validate_in_junctor(
            part,
            path.child("allOf").index(position),
            skip_any_of=not position and part.get("anyOf") == _INTEGER_OR_STRING,
        )
    for position, part in enumerate(schema.get("oneOf") or ()):
        yield from _validate_in_junctor(part, path.child("oneOf").index(position))
    if schema.get("not") is not None:
        yield from _validate_in_junctor(schema["not"], path.child("not"))
    if pattern := schema.get("pattern"):
        try:
            compile_regexp(pattern)
        except RegexpError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield field.invalid(path.child("pattern"), pattern, detail)


def _validate_in_junctor(schema: Tree, path: Path, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _validate_junctors(schema, path, skip_any_of=skip_any_of)
    if schema.get("items") is not None:
        yield from _validate_in_junctor(schema["items"], path.child("items"))
    for name, below in (schema.get("properties") or {}).items():
        yield from _validate_in_junctor(below, path.child("properties").key(name))
    for name, needed in _FORBIDDEN_IN_LOGIC.items():
        if schema.get(name):
            yield field.forbidden(path.child(name), f"must be {needed} to be structural")
    if schema.get("additionalProperties") not in (None, False):
        yield field.forbidden(path.child("additionalProperties"), "must be undefined to be structural")
    if schema.get("default") is not None:
        yield field.forbidden(path.child("default"), "must be undefined to be structural")
    if "metadata" in (schema.get("properties") or {}):
        key_path = path.child("properties").key("metadata")
        yield field.forbidden(key_path, "must not be specified in a nested context")


def _validate_complete(logic: Tree, schema: Tree, place: Path, path: Path) -> Iterator[FieldError]:
    """Validate that fields in logical junctors are specified outside of them."""
    if logic.get("not") is not None:
        yield from _validate_complete_part(logic["not"], schema, place, path.child("not"))
    for key in ("allOf", "anyOf", "oneOf"):
        for position, part in enumerate(logic.get(key) or ()):
            yield from _validate_complete_part(part, schema, place, path.child(key).index(position))


def _validate_complete_part(part: Tree, schema: Tree, place: Path, path: Path) -> Iterator[FieldError]:
    spend(UNITS_PER_SCHEMA)
    yield from _validate_complete(part, schema, place, path)
    if part.get("items") is not None:
        if schema.get("items") is None:
            yield field.required(place.child("items"), f"because it is defined in {path.child('items')}")
        else:
            yield from _validate_complete_part(
                part["items"], schema["items"], place.child("items"), path.child("items")
            )
    for name, below in (part.get("properties") or {}).items():
        logic_path, schema_path = path.child("properties").key(name), place.child("properties").key(name)
        if name not in (schema.get("properties") or {}):
            yield field.required(schema_path, f"because it is defined in {logic_path}")
        else:
            yield from _validate_complete_part(below, schema["properties"][name], schema_path, logic_path)
