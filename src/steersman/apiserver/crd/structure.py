"""Pruning, defaulting and dropping of nulls by structural schema, in upstream's order.

A write prunes unspecified fields, drops nulls of non-nullable fields, then applies defaults. A read applies the
defaults of the storage version (which may be newer than the object), and prunes by the requested version.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.crd.embedded import type_embedded
from steersman.schema import decoding, loader
from steersman.schema.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.crd.definition import CustomVersion


_INT64_END: Final = 2**63
#: Floats, and values that may contain them.
_NUMBERS_WITHIN: Final = (dict, list, float)


def decode(struct: Struct, schema: Tree, tree: Tree) -> tuple[Tree, list[str]]:
    """Return an object for storage, and the paths of unspecified fields. Raises DecodeError."""
    metadata = decoding.decode(loader.struct(loader.OBJECT_META), tree.get("metadata") or {}).tree
    pruned = prune(struct, tree)
    drop_nulls(schema, pruned.tree)
    if "metadata" in tree:
        pruned.tree["metadata"] = metadata
    type_embedded(schema, pruned.tree)
    unknown = sorted(pruned.unknown, key=_is_below_metadata, reverse=True)  # stable: metadata is decoded first
    return whole_numbers(pruned.tree), unknown


def _is_below_metadata(path: str) -> bool:
    return path.startswith("metadata.")


def whole_numbers(value: Any) -> Any:
    """Replace floats in place that Go's encoder writes as 64-bit integers by integers, and return the value."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _INT64_END else value
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, _NUMBERS_WITHIN):
                value[name] = whole_numbers(item)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            if isinstance(item, _NUMBERS_WITHIN):
                value[position] = whole_numbers(item)
    return value


def shown(version: CustomVersion, stored: CustomVersion, tree: Tree, versions: Mapping[str, CustomVersion]) -> Tree:
    """Convert a stored object in place to a version: apply defaults, prune, set apiVersion.

    Defaults are those of the version in which the object is stored. ``versions``: all of the definition, by apiVersion.
    """
    source = versions.get(tree.get("apiVersion", ""), stored)
    if source.has_defaults:
        fill_defaults(source.schema, tree)
    if source is not stored:  # fields that only its version specifies were never visible in the storage version
        tree = prune(source.struct, tree).tree
    kept: Tree = prune(version.struct, tree).tree
    kept["apiVersion"] = version.resource.api_version
    return kept


def fill_defaults(schema: Tree, value: Any) -> None:
    """Apply the schema's defaults in existing objects, and in objects that are defaults."""
    if isinstance(value, dict):
        for name, below in (schema.get("properties") or {}).items():
            if name not in value and below.get("default") is not None:
                value[name] = copy.deepcopy(below["default"])
            if name in value:
                fill_defaults(below, value[name])
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            for name, item in value.items():
                if name not in (schema.get("properties") or {}):
                    fill_defaults(others, item)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for item in value:
            fill_defaults(schema["items"], item)


def drop_nulls(schema: Tree, value: Any) -> None:
    """Drop nulls of non-nullable fields; in lists and maps with additionalProperties, a default replaces them."""
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, item in list(value.items()):
            below = properties.get(name, others)
            if not isinstance(below, dict):
                continue
            if item is not None or below.get("nullable"):
                drop_nulls(below, item)
            elif name not in properties and below.get("default") is not None:
                value[name] = copy.deepcopy(below["default"])
            else:
                del value[name]
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        items = schema["items"]
        for position, item in enumerate(value):
            if item is None and not items.get("nullable") and items.get("default") is not None:
                value[position] = copy.deepcopy(items["default"])
            drop_nulls(items, item)


def has_defaults(schema: Any) -> bool:
    """True if the schema has defaults."""
    if not isinstance(schema, dict):
        return False
    if any(
        below.get("default") is not None or has_defaults(below) for below in (schema.get("properties") or {}).values()
    ):
        return True
    return has_defaults(schema.get("items")) or has_defaults(schema.get("additionalProperties"))
