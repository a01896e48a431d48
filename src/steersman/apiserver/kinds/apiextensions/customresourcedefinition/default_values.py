"""Validation of schema defaults: they must be valid against the schema and unchanged by pruning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import FieldError
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.object_rules import ObjectRules
from steersman.schema.openapi_values import NO_PATH, placed, validate_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import Path
    from steersman.apimachinery.trees import Tree

_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_ENVELOPE: Final = ("apiVersion", "kind", "metadata")
_SUBSCHEMAS: Final = ("items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems")
_MAPS_OF_SUBSCHEMAS: Final = ("properties", "patternProperties", "definitions", "dependencies")


def validate_defaults(schema: Tree, path: Path, *, is_resource: bool = True) -> Iterator[FieldError]:
    """Validate all defaults of a structural schema except those in object metadata."""
    default = schema.get("default")
    if default is not None:
        default_path = path.child("default")
        if not _is_pruned(schema, default):
            yield field.invalid(default_path, default, "must not have unknown fields")
        faults = validate_value(schema, default)
        for error in faults:
            yield placed(error, str(default_path))
        if not faults:
            yield from _broken_rules(schema, default, default_path)
    if schema.get("items") is not None:
        items = schema["items"]
        yield from validate_defaults(items, path.child("items"), is_resource=bool(items.get(_EMBEDDED)))
    for name, below in (schema.get("properties") or {}).items():
        if not (is_resource and name in _ENVELOPE):
            property_path = path.child("properties").key(name)
            yield from validate_defaults(below, property_path, is_resource=bool(below.get(_EMBEDDED)))


def has_defaults(schema: Any) -> bool:
    """Report whether a schema or one of its subschemas has a default."""
    if isinstance(schema, list):
        return any(map(has_defaults, schema))
    if not isinstance(schema, dict):
        return False
    parts = [schema.get(key) for key in _SUBSCHEMAS]
    parts += [part for key in _MAPS_OF_SUBSCHEMAS for part in (schema.get(key) or {}).values()]
    return schema.get("default") is not None or any(map(has_defaults, parts))


def _broken_rules(schema: Tree, default: Any, path: Path) -> Iterator[FieldError]:
    """Yield the errors of rules that a default violates. Rules that do not compile are reported elsewhere."""
    rules = ObjectRules(schema, is_resource=bool(schema.get(_EMBEDDED)))
    for error in rules.validate(default, None, faults=(), warn=_ignore_warning):
        below = "" if error.field == NO_PATH else error.field
        yield placed(FieldError(error.type, below, value=error.value, detail=error.detail), str(path))


def _ignore_warning(_: str) -> None:
    """Drop a warning: a default has no earlier value that could be unchanged."""


def _is_pruned(schema: Any, value: Any) -> bool:
    """Report whether pruning leaves the value unchanged."""
    if not isinstance(schema, dict):
        schema = {}
    if isinstance(value, list):
        return all(_is_pruned(schema.get("items"), item) for item in value)
    if not isinstance(value, dict):
        return True
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    keeps = schema.get("x-kubernetes-preserve-unknown-fields")
    for name, item in value.items():
        if schema.get(_EMBEDDED) and name in _ENVELOPE:
            continue
        if name not in properties and others is None and not keeps:
            return False
        if name in properties or not keeps:
            below = properties.get(name, others)
            if not _is_pruned(below, item):
                return False
    return True
