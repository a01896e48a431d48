"""Which item of a list is which: the path elements of the items of sets and list maps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.managedfields.elements import list_item, set_item, value_text
from steersman.schema.model import ListOf, Scalar, ScalarKind, Struct

MISSING: Final = object()
_NUMBERS: Final = frozenset({ScalarKind.INT32, ScalarKind.INT64, ScalarKind.NUMBER, ScalarKind.INT_OR_STRING})


class UnkeyedItemError(ValueError):
    """An item of a set or list map has no usable key."""


def element_of(item: Any, type_: ListOf) -> str:
    """The item's path element. Raises UnkeyedItemError when it has none."""
    keys = type_.keys
    if not keys:
        return _set_element(item)
    if item.__class__ is not dict:
        raise UnkeyedItemError(
            f"associative list with keys may not have {'a null element' if item is None else 'non-map elements'}"
        )
    if len(keys) == 1:
        value = item.get(keys[0], MISSING)
        if value.__class__ is str:
            return f'k:{{"{keys[0]}":{value_text(value)}}}'
    return list_item({key: item[key] if key in item else _default(type_, key) for key in keys})


def elements_of(items: list[Any], type_: ListOf) -> list[str]:
    """The path element of each item. Raises UnkeyedItemError when one has none."""
    return [element_of(item, type_) for item in items]


def _set_element(item: Any) -> str:
    if item.__class__ is dict:
        raise UnkeyedItemError("associative list without keys has an element that's a map type")
    if item.__class__ is list:
        raise UnkeyedItemError("not supported: associative list with lists as elements")
    if item is None:
        raise UnkeyedItemError("associative list without keys has an element that's an explicit null")
    return set_item(item)


def _default(type_: ListOf, key: str) -> Any:
    value = _key_default(type_, key)
    if value is MISSING:
        raise UnkeyedItemError(
            f"associative list with keys has an element that omits key field {quote(key)} (and doesn't have default value)"
        )
    return value


@lru_cache(maxsize=1024)
def _key_default(type_: ListOf, key: str) -> Any:
    """The schema's default, or the zero value of a field that Go always writes; MISSING when there is neither."""
    if key in type_.key_defaults:
        return type_.key_defaults[key]
    field = type_.item.fields.get(key) if isinstance(type_.item, Struct) else None
    if field is None or not field.required or not isinstance(field.type, Scalar):
        return MISSING
    if field.type.kind is ScalarKind.BOOLEAN:
        return False
    return 0 if field.type.kind in _NUMBERS else ""
