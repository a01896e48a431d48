"""Pruning, defaulting and dropping of nulls by structural schema, in upstream's order.

A write prunes unspecified fields, drops nulls of non-nullable fields, then applies defaults. A read applies the
defaults of the storage version (which may be newer than the object), and prunes by the requested version.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.workmeter import charged
from steersman.apiserver.crd.pruning import prune
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.embedded import type_embedded
from steersman.schema import decoding, loader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.crd.definition import CustomVersion
    from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape


_INT64_END: Final = 2**63
_UNITS_PER_VALUE: Final = 1


def decode(shape: Shape, tree: Tree) -> tuple[Tree, list[str]]:
    """Return an object for storage, and the paths of unspecified fields. Raises DecodeError."""
    metadata = tree.get("metadata")
    metadata = decoding.decode(loader.struct(loader.OBJECT_META), {} if metadata is None else metadata).tree
    pruned = prune(shape, tree)
    drop_nulls(shape, pruned.tree)
    if "metadata" in tree:
        pruned.tree["metadata"] = metadata
    type_embedded(shape, pruned.tree)
    return whole_numbers(pruned.tree), pruned.unknown


def whole_numbers(value: Any) -> Any:
    """Replace floats in place that Go's encoder writes as 64-bit integers by integers, and return the value."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _INT64_END else value
    if isinstance(value, dict):
        for name, item in charged(value.items(), _UNITS_PER_VALUE):
            if isinstance(item, (dict, list, float)):
                value[name] = whole_numbers(item)
    elif isinstance(value, list):
        for position, item in enumerate(charged(value, _UNITS_PER_VALUE)):
            if isinstance(item, (dict, list, float)):
                value[position] = whole_numbers(item)
    return value


def shown(version: CustomVersion, stored: CustomVersion, tree: Tree, versions: Mapping[str, CustomVersion]) -> Tree:
    """Convert a stored object in place to a version: apply defaults, prune, set apiVersion.

    Defaults are those of the version in which the object is stored. ``versions``: all of the definition, by apiVersion.
    """
    source = versions.get(tree.get("apiVersion", ""), stored)
    if source.has_defaults:
        fill_defaults(source.shape, tree)
    if source is not stored:  # fields that only its version specifies were never visible in the storage version
        tree = prune(source.shape, tree).tree
    pruned: Tree = prune(version.shape, tree).tree
    pruned["apiVersion"] = version.resource.api_version
    return pruned


def fill_defaults(shape: Shape, value: Any) -> None:
    """Apply the schema's defaults in existing objects, and in objects that are defaults."""
    if not shape.has_defaults:
        return
    if isinstance(value, dict):
        for name, default in shape.defaults:
            if name not in value:
                value[name] = copy.deepcopy(default) if isinstance(default, (dict, list)) else default
        properties, others = shape.properties, shape.others
        for name, item in charged(value.items(), _UNITS_PER_VALUE):
            below = properties.get(name, others)
            if below is not None and below.has_defaults and isinstance(item, (dict, list)):
                fill_defaults(below, item)
    elif isinstance(value, list) and shape.items is not None:
        for item in charged(value, _UNITS_PER_VALUE):
            fill_defaults(shape.items, item)


def drop_nulls(shape: Shape, value: Any) -> None:
    """Drop nulls of non-nullable fields; in lists and maps with additionalProperties, a default replaces them."""
    if isinstance(value, dict):
        dropped = []
        properties, others = shape.properties, shape.others
        for name, item in charged(value.items(), _UNITS_PER_VALUE):
            below = properties.get(name, others)
            if below is None:
                continue
            if item is not None:
                if isinstance(item, (dict, list)):
                    drop_nulls(below, item)
            elif below.is_nullable:
                continue
            elif name not in properties and below.default is not None:
                value[name] = copy.deepcopy(below.default)
            else:
                dropped.append(name)
        for name in dropped:
            del value[name]
    elif isinstance(value, list) and shape.items is not None:
        items = shape.items
        for position, item in enumerate(charged(value, _UNITS_PER_VALUE)):
            if item is None and not items.is_nullable and items.default is not None:
                value[position] = copy.deepcopy(items.default)
            elif isinstance(item, (dict, list)):
                drop_nulls(items, item)
