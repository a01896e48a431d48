"""Validation of the OpenAPI schema of a custom resource, without structural rules (``structural.py``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery import field
from steersman.apimachinery.workmeter import spend
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.field_paths import FieldPathError, follow
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.list_rules import validate_lists
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.schema_form import UNITS_PER_SCHEMA
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.structural import check_convertible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_ENVELOPE: Final = ("metadata", "kind", "apiVersion")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_has_line_break: Final = re.compile(r"[\n\r]").search


class _Place(NamedTuple):
    """Position of a schema in the object."""

    #: Reason why defaults are forbidden here; empty if allowed.
    no_defaults: str = ""
    in_metadata: bool = False
    is_root: bool = False


def validate_schema(schema: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the schema of a whole object."""
    yield from _validate_node(schema, path, _Place(is_root=True))


def _validate_node(schema: Tree, path: Path, place: _Place) -> Iterator[FieldError]:
    spend(UNITS_PER_SCHEMA)
    yield from _validate_supported(schema, path, place)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield field.forbidden(path.child("uniqueItems"), detail)
    yield from _validate_subschemas(schema, path, place)
    if schema.get(_PRESERVE) is False:
        yield field.invalid(path.child(_PRESERVE), False, "must be true or undefined")
    yield from _validate_map_type(schema, path)
    yield from validate_lists(schema, path)
    for position, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _validate_rule(rule, schema, path.child("x-kubernetes-validations").index(position))


def _validate_supported(schema: Tree, path: Path, place: _Place) -> Iterator[FieldError]:
    type_ = schema.get("type")
    if type_ and type_ not in _TYPES:
        yield field.not_supported(path.child("type"), type_, _TYPES)
    if schema.get("default") is not None and place.no_defaults:
        yield field.forbidden(path.child("default"), f"must not be set {place.no_defaults}")
    for name in _UNSUPPORTED:
        if schema.get(name) or (name == "additionalItems" and schema.get(name) is False):
            yield field.forbidden(path.child(name), f"{name} is not supported")
    if type_ == "null":
        yield field.forbidden(path.child("type"), "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield field.forbidden(path.child("items"), "items must be a schema object and not an array")
    if place.in_metadata and schema.get(_EMBEDDED):
        yield field.forbidden(path.child(_EMBEDDED), "must not be used inside of resource meta")


def _validate_subschemas(schema: Tree, path: Path, place: _Place) -> Iterator[FieldError]:
    """Yield the subschemas of a schema with path and position."""
    inside = place._replace(is_root=False)
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    if properties and others not in (None, True):
        detail = "additionalProperties and properties are mutual exclusive"
        yield field.forbidden(path.child("additionalProperties"), detail)
    if isinstance(others, dict):
        reason = "inside additionalProperties applying to object metadata" if place.in_metadata else place.no_defaults
        yield from _validate_node(others, path.child("additionalProperties"), inside._replace(no_defaults=reason))
    for name, below in properties.items():
        yield from _validate_node(below, path.child("properties").key(name), _place_of(name, schema, place))
    if schema.get("not") is not None:
        yield from _validate_node(schema["not"], path.child("not"), inside)
    for key in ("allOf", "oneOf", "anyOf"):
        for position, part in enumerate(schema.get(key) or ()):
            yield from _validate_node(part, path.child(key).index(position), inside)
    for name, below in (schema.get("definitions") or {}).items():
        yield from _validate_node(below, path.child("definitions").key(name), inside)
    yield from _validate_items(schema.get("items"), path.child("items"), inside)
    for name, below in (schema.get("dependencies") or {}).items():
        if isinstance(below, dict):
            yield from _validate_node(below, path.child("dependencies").key(name), inside)


def _validate_items(items: Any, path: Path, place: _Place) -> Iterator[FieldError]:
    if isinstance(items, list):
        for position, part in enumerate(items):
            yield from _validate_node(part, path.index(position), place)
    elif items is not None:
        yield from _validate_node(items, path, place)


def _place_of(name: str, schema: Tree, place: _Place) -> _Place:
    below = place._replace(is_root=False)
    if name not in _ENVELOPE or not (place.is_root or schema.get(_EMBEDDED)):
        return below
    if place.is_root:
        below = below._replace(no_defaults=f"in top-level {name}")
    return below._replace(in_metadata=True)


def _validate_map_type(schema: Tree, path: Path) -> Iterator[FieldError]:
    map_type, type_ = schema.get(_MAP_TYPE), schema.get("type")
    if map_type is None:
        return
    if type_ != "object":
        detail = f"must be object if {_MAP_TYPE} is specified"
        type_path = path.child("type")
        yield field.invalid(type_path, type_, detail) if type_ else field.required(type_path, detail)
    if map_type not in ("atomic", "granular"):
        yield field.not_supported(path.child(_MAP_TYPE), map_type, ("atomic", "granular"))


def _validate_rule(rule: Tree, schema: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the form of a CEL rule; ``cel_rules.py`` compiles its expressions."""
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        yield field.required(path.child("rule"), "rule is not specified")
    elif message and not message.strip():
        yield field.invalid(path.child("message"), message, "message must be non-empty if specified")
    elif _has_line_break(message.strip()):
        yield field.invalid(path.child("message"), message, "message must not contain line breaks")
    elif _has_line_break(text) and not message:
        yield field.required(path.child("message"), "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression")
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        yield field.required(path.child("messageExpression"), detail)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield field.not_supported(path.child("reason"), reason, _REASONS)
    if rule.get("fieldPath"):
        yield from _validate_rule_path(rule["fieldPath"], schema, path.child("fieldPath"))


def _validate_rule_path(text: str, schema: Tree, path: Path) -> Iterator[FieldError]:
    if not text.strip():
        yield field.invalid(path, text, "fieldPath must be non-empty if specified")
    if _has_line_break(text):
        yield field.invalid(path, text, "fieldPath must not contain line breaks")
    try:
        follow(text, schema)
    except FieldPathError:
        if not check_convertible(schema):  # upstream follows paths through structural schemas only
            yield field.invalid(path, text, "fieldPath must be a valid path")
