"""Validation of schema defaults: they must be valid against the schema and unchanged by pruning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery import field
from steersman.apimachinery.field import FieldError
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.embedded import coerce_embedded, validate_embedded
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.object_rules import ObjectRules
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape
from steersman.schema.openapi_values import NO_PATH, placed, validate_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import Path
    from steersman.apimachinery.trees import Tree

_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_ENVELOPE: Final[tuple[str | int, ...]] = ("apiVersion", "kind", "metadata")
_SUBSCHEMAS: Final = ("items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems")
_MAPS_OF_SUBSCHEMAS: Final = ("properties", "patternProperties", "definitions", "dependencies")


class _InMetadata(NamedTuple):
    """Place of a schema within the type or metadata of a resource."""

    #: Schema of the resource.
    resource: Tree
    #: Names of fields on the way to the value; 0 for an item of a list.
    steps: tuple[str | int, ...]


def validate_defaults(schema: Tree, path: Path, *, is_resource: bool = True) -> Iterator[FieldError]:
    """Validate all defaults of a structural schema.

    Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go.
    """
    yield from _validate_below(schema, path, schema if is_resource else None, None)


def _validate_below(schema: Tree, path: Path, resource: Tree | None, place: _InMetadata | None) -> Iterator[FieldError]:
    """Validate the defaults at and below a schema. ``resource``: the schema, if it is one of a resource."""
    if schema.get("default") is not None:
        yield from _validate_default(schema, path.child("default"), place)
    below: list[tuple[str | int, Tree | None, Path]] = [(0, schema.get("items"), path.child("items"))]
    for name, subschema in (schema.get("properties") or {}).items():
        below.append((name, subschema, path.child("properties").key(name)))
    for step, subschema, below_path in below:
        if subschema is None:
            continue
        if subschema.get(_EMBEDDED):
            yield from _validate_below(subschema, below_path, subschema, None)
        elif place is not None:
            yield from _validate_below(subschema, below_path, None, place._replace(steps=(*place.steps, step)))
        elif resource is not None and step in _ENVELOPE:
            yield from _validate_below(subschema, below_path, None, _InMetadata(resource, (step,)))
        else:
            yield from _validate_below(subschema, below_path, None, None)


def _validate_default(schema: Tree, path: Path, place: _InMetadata | None) -> Iterator[FieldError]:
    default = schema["default"]
    if place is None:
        if not _is_pruned(schema, default):
            yield field.invalid(path, default, "must not have unknown fields")
        faults = _metadata_faults(schema, default, path, is_root=bool(schema.get(_EMBEDDED)))
    else:
        texts = _metadata_faults(place.resource, _resource_around(default, place.steps), None, is_root=True)
        detail = f"must result in valid metadata: {field.aggregate(texts)}"
        faults = [field.invalid(path, default, detail)] if texts else []
    faults = faults or [placed(error, str(path)) for error in validate_value(schema, default)]
    yield from faults
    if not faults:
        yield from _broken_rules(schema, default, path)


def _metadata_faults(schema: Tree, value: Any, path: Path | None, *, is_root: bool) -> list[FieldError]:
    """Return the errors in type and metadata of resources in a value, which is one itself if ``is_root``."""
    shape = Shape(schema)
    value = copy_tree(value)
    wrong_type = coerce_embedded(shape, value, path, is_root=is_root)
    return list(validate_embedded(shape, value, path, is_root=is_root)) if wrong_type is None else [wrong_type]


def _resource_around(value: Any, steps: tuple[str | int, ...]) -> Tree:
    """Return a resource with a value at a path. Its type is set last, as upstream, so that a default for it is not seen."""
    for step in reversed(steps):
        value = [value] if step == 0 else {step: value}
    return {**value, "apiVersion": "validation/v1", "kind": "Validation"}


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
