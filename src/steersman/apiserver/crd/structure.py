"""Custom objects by their structural schema: nulls, defaults and pruning, in upstream's order.

On a write: nulls of fields that may not be null are dropped where the schema has a default, then what the schema does not
know is pruned, then defaults are filled in. On a read defaults of the stored version are (a schema may have got new ones),
and what the version read in does not know is pruned.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from steersman.schema.pruning import prune

if TYPE_CHECKING:
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.crd.definition import CustomVersion

Tree = dict[str, Any]


def decode(struct: Struct, schema: Tree, tree: Tree) -> tuple[Tree, list[str]]:
    """An object as it is to be kept, and the paths of the fields that nobody specified."""
    pruned = prune(struct, tree)
    drop_nulls(schema, pruned.tree)
    return pruned.tree, pruned.unknown


def shown(version: CustomVersion, stored: CustomVersion, tree: Tree) -> Tree:
    """A stored object, which may be changed, as a version shows it: in another one that is all but a conversion webhook."""
    if stored.has_defaults:
        fill_defaults(stored.schema, tree)
    kept: Tree = prune(version.struct, tree).tree
    kept["apiVersion"] = version.resource.api_version
    return kept


def fill_defaults(schema: Tree, value: Any) -> None:
    """Fill in what the schema has defaults for, below objects that are there (or that default to something)."""
    if isinstance(value, dict):
        for name, below in (schema.get("properties") or {}).items():
            if name not in value and "default" in below:
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
    """Drop nulls of fields with a default that may not be null: the default takes their place."""
    if isinstance(value, dict):
        for name, below in (schema.get("properties") or {}).items():
            if name not in value:
                continue
            if value[name] is None and "default" in below and not below.get("nullable"):
                del value[name]
            else:
                drop_nulls(below, value[name])
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            for item in value.values():
                drop_nulls(others, item)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for item in value:
            drop_nulls(schema["items"], item)


def has_defaults(schema: Any) -> bool:
    """Whether there is anything to fill in."""
    if not isinstance(schema, dict):
        return False
    if any("default" in below or has_defaults(below) for below in (schema.get("properties") or {}).values()):
        return True
    return has_defaults(schema.get("items")) or has_defaults(schema.get("additionalProperties"))
