"""Item keys of sets and associative lists."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.managedfields.elements import list_item, set_item, value_text
from steersman.apimachinery.sorting import sorted_in_parts
from steersman.apimachinery.typemodel import ListOf, Scalar, ScalarKind, Struct
from steersman.apimachinery.workmeter import charged

_MISSING: Final = object()
_NUMBERS: Final = frozenset({ScalarKind.INT32, ScalarKind.INT64, ScalarKind.NUMBER, ScalarKind.INT_OR_STRING})
#: Elements that a list type caches before the cache is cleared.
_ELEMENTS_MAX: Final = 4096
_ELEMENT_LENGTH_MAX: Final = 256
_UNITS_PER_ITEM: Final = 1


class UnkeyedItemError(ValueError):
    """An item of a set or associative list has no usable key."""


class ItemKeys:
    """Item keys of one list type. Elements are cached by key, as the same names recur."""

    __slots__ = ("_defaults", "_elements", "_get", "_keys", "_only_key", "_prefix")

    def __init__(self, type_: ListOf) -> None:
        self._keys = type_.keys
        self._get = itemgetter(*type_.keys) if type_.keys else None
        #: The only key field, if there is just one, and the prefix of its elements.
        self._only_key = type_.keys[0] if len(type_.keys) == 1 else None
        self._prefix = f"k:{{{value_text(self._only_key)}:"
        self._defaults = {key: value for key in type_.keys if (value := _default(type_, key)) is not _MISSING}
        #: Key value, or the values in the order of the keys → element.
        self._elements: dict[Any, str] = {}

    def element_of(self, item: Any) -> str:
        """Return the item's path element. Raises UnkeyedItemError if it has none."""
        if self._get is None:
            return self._set_element(item)
        if item.__class__ is not dict:
            elements = "a null element" if item is None else "non-map elements"
            raise UnkeyedItemError(f"associative list with keys may not have {elements}")
        name = self._only_key
        if name is not None:
            key = item.get(name)
            if type(key) is not str:
                return self._list_element(item)
            element = self._elements.get(key)
            return self._cache_element(key, f"{self._prefix}{value_text(key)}}}") if element is None else element
        try:
            element = self._elements.get(self._get(item))
        except (KeyError, TypeError):  # a missing key, or a key that is not a scalar
            element = None
        return self._list_element(item) if element is None else element

    def in_order(self, items: list[Any]) -> list[Any] | None:
        """Return the items in the order of their elements; None for several items without one text as their key."""
        if len(items) < 2:
            return items
        name = self._only_key
        if name is None:
            return None
        for item in items:
            if type(item) is not dict or type(item.get(name)) is not str:
                return None
        return sorted_in_parts(items, key=self._get)

    def elements_of(self, items: list[Any]) -> list[str]:
        """Return the path element of each item. Raises UnkeyedItemError if one has none."""
        return list(map(self.element_of, charged(items, _UNITS_PER_ITEM)))

    def _list_element(self, item: dict[str, Any]) -> str:
        keys = {
            key: value
            for key in self._keys
            if (value := item.get(key, self._defaults.get(key, _MISSING))) is not _MISSING
        }
        if not keys:  # optional keys: an item without them differs from items with them
            quoted_keys = " ".join(map(quote, self._keys))
            raise UnkeyedItemError(
                f"associative list with keys has an element that omits all key fields [{quoted_keys}] "
                "(and doesn't have default values for any key fields)"
            )
        element = list_item(keys)
        # As dict keys 1 and true are equal, as are 0 and false.
        if len(keys) == len(self._keys) and all(
            value.__class__ is str or (value.__class__ is int and value > 1) for value in keys.values()
        ):
            values = tuple(keys.values())
            self._cache_element(values if len(values) > 1 else values[0], element)
        return element

    def _set_element(self, item: Any) -> str:
        if item.__class__ is str:
            return self._elements.get(item) or self._cache_element(item, set_item(item))
        if item.__class__ is dict:
            raise UnkeyedItemError("associative list without keys has an element that's a map type")
        if item.__class__ is list:
            raise UnkeyedItemError("not supported: associative list with lists as elements")
        if item is None:
            raise UnkeyedItemError("associative list without keys has an element that's an explicit null")
        return set_item(item)

    def _cache_element(self, key: Any, element: str) -> str:
        if len(element) > _ELEMENT_LENGTH_MAX:
            return element
        if len(self._elements) >= _ELEMENTS_MAX:
            self._elements.clear()
        self._elements[key] = element
        return element


def item_keys(type_: ListOf) -> ItemKeys:
    """Return the keys of a set or associative list."""
    keys: ItemKeys | None = type_.item_keys
    if keys is None:
        keys = type_.item_keys = ItemKeys(type_)
    return keys


def _default(type_: ListOf, key: str) -> Any:
    """Return the schema's default, or the zero value of a field that Go always writes."""
    if key in type_.key_defaults:
        return type_.key_defaults[key]
    field = type_.item.fields.get(key) if isinstance(type_.item, Struct) else None
    if field is None or not field.required or not isinstance(field.type, Scalar):
        return _MISSING
    if field.type.kind is ScalarKind.BOOLEAN:
        return False
    return 0 if field.type.kind in _NUMBERS else ""
