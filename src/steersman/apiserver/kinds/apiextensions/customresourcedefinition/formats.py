"""Unsupported ``format`` values in custom resource schemas, which have no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.workmeter import spend
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.schema_form import UNITS_PER_SCHEMA
from steersman.schema.openapi_formats import is_supported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree


def unrecognized_formats(definition: Tree) -> Iterator[str]:
    """Return the unsupported formats in all schemas of a definition."""
    for version in definition["spec"].get("versions") or ():
        yield from _unrecognized((version.get("schema") or {}).get("openAPIV3Schema"))


def _unrecognized(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _unrecognized(part)
    if not isinstance(schema, dict):
        return
    spend(UNITS_PER_SCHEMA)
    name = schema.get("format")
    if name and not is_supported(name, schema.get("type") or ""):
        yield name
    for key in ("items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems"):
        yield from _unrecognized(schema.get(key))
    for key in ("properties", "patternProperties", "definitions", "dependencies"):
        for below in (schema.get(key) or {}).values():
            yield from _unrecognized(below)
