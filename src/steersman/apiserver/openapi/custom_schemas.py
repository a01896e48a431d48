"""Published schemas of custom kinds, derived from structural schemas for each OpenAPI version.

Clients of version 2 (kubectl's validation) do not support all keywords of structural schemas, so some are stripped.
Upstream: ``apiextensions-apiserver/pkg/controller/openapi`` (``builder`` and ``v2``) and ``schema.Unfold``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree

_JUNCTORS: Final = ("allOf", "oneOf", "anyOf", "not")
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
#: Keywords of definitions that structural schemas do not have.
_UNPUBLISHED: Final = ("example", "externalDocs")
_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
#: Descriptions of the fields of embedded resources.
_EMBEDDED_TEXTS: Final = {
    "apiVersion": "apiVersion defines the versioned schema of this representation of an object. "
    f"More info: {_CONVENTIONS}#resources",
    "kind": f"kind is a string value representing the type of this object. In CamelCase. More info: {_CONVENTIONS}#types-kinds",
}


def publish_schema(schema: Tree, object_fields: Tree, *, v3: bool) -> Tree:
    """Return the published form of a structural schema; ``object_fields``: the properties of every object.

    A version 2 schema that preserves unknown fields at its root has no properties: kubectl would reject all others.
    """
    if not v3 and schema.get(_PRESERVE):
        return {"type": "object"}
    published = _rewrite(schema, _unfold)
    if not v3:
        published = _rewrite(published, _strip_for_version_2)
    published = _rewrite(published, lambda tree: _embed(tree, object_fields, v3=v3))
    return {**published, "properties": {**(published.get("properties") or {}), **object_fields}}


def _rewrite(schema: Tree, rewrite: Callable[[Tree], Tree]) -> Tree:
    """Return a copy with ``rewrite`` applied to the schema and then to the schemas in it."""
    tree = rewrite(schema)
    if isinstance(properties := tree.get("properties"), dict):
        tree = {**tree, "properties": {name: _rewrite(subschema, rewrite) for name, subschema in properties.items()}}
    for name in ("items", "additionalProperties"):
        if isinstance(inner := tree.get(name), dict):
            tree = {**tree, name: _rewrite(inner, rewrite)}
    return tree


def _unfold(schema: Tree) -> Tree:
    """Expand ``x-kubernetes-int-or-string`` to ``anyOf``; drop keywords that are not published."""
    if any(name in schema for name in _UNPUBLISHED):
        schema = {name: value for name, value in schema.items() if name not in _UNPUBLISHED}
    types = [{"type": "integer"}, {"type": "string"}]
    all_of = schema.get("allOf") or []
    if not schema.get(_INT_OR_STRING) or schema.get("anyOf") == types or (all_of and all_of[0].get("anyOf") == types):
        return schema
    if schema.get("anyOf"):
        return {**schema, "allOf": [{"anyOf": types}, *all_of]}
    return {**schema, "anyOf": types}


def _strip_for_version_2(schema: Tree) -> Tree:
    """Strip keywords that version 2 lacks or kubectl misreads. Upstream: ``ToStructuralOpenAPIV2``, ``PruneDefaults``."""
    tree = {name: value for name, value in schema.items() if name not in _JUNCTORS and name != "default"}
    preserves = bool(tree.get(_PRESERVE))
    is_nullable = bool(tree.pop("nullable", False))
    if is_nullable:
        tree.pop("type", None)
    if is_nullable or preserves:
        tree.pop("items", None)
        tree.pop("properties", None)
    if tree.get("type") == "array" and "items" not in tree:
        del tree["type"]
    if tree.get("type") == "object" and preserves:
        del tree["type"]
    return _without_nullable_required(tree)


def _without_nullable_required(tree: Tree) -> Tree:
    properties, values = tree.get("properties") or {}, tree.get("additionalProperties")
    nullable = {name for name, subschema in properties.items() if subschema.get("nullable")}
    required = [name for name in tree.get("required") or () if name not in nullable]
    if isinstance(values, dict) and values.get("nullable"):
        required = []
    if "required" in tree and required != tree["required"]:
        tree = {name: value for name, value in tree.items() if name != "required" or required}
        if required:
            tree["required"] = required
    return tree


def _embed(schema: Tree, object_fields: Tree, *, v3: bool) -> Tree:
    """Add the fields of every object to an embedded resource; kind and apiVersion are required."""
    if not schema.get(_EMBEDDED) or (not v3 and schema.get(_PRESERVE)):
        return schema
    required = list(schema.get("required") or ())
    required += [name for name in ("kind", "apiVersion") if name not in required]
    fields = {
        name: {**field, "description": _EMBEDDED_TEXTS[name]} if name in _EMBEDDED_TEXTS else field
        for name, field in object_fields.items()
    }
    return {**schema, "properties": {**(schema.get("properties") or {}), **fields}, "required": required}
