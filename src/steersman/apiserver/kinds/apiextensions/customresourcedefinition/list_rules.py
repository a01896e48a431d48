"""Validation of ``x-kubernetes-list-type`` and ``x-kubernetes-list-map-keys``: sets, maps and their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.schema_form import items_form
from steersman.apiserver.kinds.shared.validation import repeat_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_LIST_TYPES: Final = ("atomic", "set", "map")


def validate_lists(schema: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the list type of a schema."""
    list_type, keys, items = schema.get(_LIST_TYPE), schema.get(_KEYS) or (), schema.get("items")
    if list_type is not None:
        yield from _validate_list_type(schema, list_type, path)
    if keys and list_type != "map":
        field_path, detail = path.child(_LIST_TYPE), f"must be map if {_KEYS} is non-empty"
        yield field.required(field_path, detail) if list_type is None else field.invalid(field_path, list_type, detail)
    if list_type == "map":
        yield from _validate_map(schema, path)
    if list_type in ("set", "map") and isinstance(items, dict):
        yield from _validate_not_nullable(list_type, items, keys, path.child("items"))


def _validate_list_type(schema: Tree, list_type: str, path: Path) -> Iterator[FieldError]:
    type_, items = schema.get("type"), schema.get("items")
    if type_ != "array":
        type_path, detail = path.child("type"), f"must be array if {_LIST_TYPE} is specified"
        yield field.invalid(type_path, type_, detail) if type_ else field.required(type_path, detail)
    elif list_type == "set" and isinstance(items, dict):
        yield from _validate_set_items(items, path.child("items"))
    if list_type not in _LIST_TYPES:
        yield field.not_supported(path.child(_LIST_TYPE), list_type, _LIST_TYPES)


def _validate_set_items(items: Tree, path: Path) -> Iterator[FieldError]:
    detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    list_type = items.get(_LIST_TYPE)
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        yield field.invalid(path.child(_LIST_TYPE), list_type, detail)
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        # upstream reports the list type as value
        yield field.invalid(path.child(_MAP_TYPE), list_type, detail)


def _validate_map(schema: Tree, path: Path) -> Iterator[FieldError]:
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    if not keys:
        yield field.required(path.child(_KEYS), f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield field.required(path.child("items"), f"must have a schema if {_LIST_TYPE} is map")
    elif isinstance(items, list):
        detail = f"must only have a single schema if {_LIST_TYPE} is map"
        yield field.invalid(path.child("items"), items_form(items), detail)
    elif items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield field.invalid(path.child("items", "type"), items.get("type", ""), detail)
    else:
        yield from _validate_keys(keys, items, path)


def _validate_keys(keys: list[str], items: Tree, path: Path) -> Iterator[FieldError]:
    properties = items.get("properties") or {}
    repeats = repeat_positions(keys)
    for position, key in enumerate(keys):
        if key not in properties:
            yield field.invalid(path.child(_KEYS), keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            # upstream reports the item's type as value
            yield field.invalid(path.child("items", "properties").key(key).child("type"), items["type"], detail)
        if position in repeats:
            yield field.invalid(path.child(_KEYS), keys, "must not contain duplicate entries")


def _validate_not_nullable(
    list_type: str, items: Tree, keys: list[str] | tuple[()], path: Path
) -> Iterator[FieldError]:
    """Validate that items of sets and keys of maps are not nullable."""
    if items.get("nullable"):
        yield field.forbidden(path.child("nullable"), f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    if list_type == "set":
        return
    properties, required = items.get("properties") or {}, frozenset(items.get("required") or ())
    for key in keys:
        if key not in properties:
            continue
        property_path, subject = path.child("properties").key(key), f"this property is in {_KEYS}, so it"
        if key not in required and properties[key].get("default") is None:
            yield field.required(
                property_path.child("default"), f"{subject} must have a default or be a required property"
            )
        if properties[key].get("nullable"):
            yield field.forbidden(property_path.child("nullable"), f"{subject} cannot be nullable")
