"""How ownership sees a type: as a leaf, an object with separate fields, or a list with separate items.

Fields that a struct does not declare have no type; they are *deduced* from the value: objects are separate, all else
is a leaf.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from steersman.schema.model import ListOf, ListType, MapOf, Scalar, ScalarKind, Struct, Type

#: The type of what has no declared type.
DEDUCED: Final = Struct("deduced", {}, preserve_unknown=True)


def field_type(type_: Struct | MapOf, name: str) -> Type:
    """The type of an object's field or key."""
    if type_.__class__ is MapOf:
        return type_.value
    field = type_.fields.get(name)  # type: ignore[union-attr]  # a Struct, see above
    return DEDUCED if field is None else field.type


def is_leaf(type_: Type) -> bool:
    """Whether a value of the type is owned as a whole."""
    if type_.__class__ is Scalar:
        return True
    if type_.__class__ is ListOf:
        return type_.list_type is ListType.ATOMIC
    return type_.atomic  # type: ignore[union-attr]  # a Struct or MapOf


@lru_cache(maxsize=1024)
def is_strict(type_: Struct) -> bool:
    """Whether every value below is typed, so that ``1`` can never turn into ``true`` unseen."""
    return not _holds_anything(type_, set())


def _holds_anything(type_: Type, seen: set[int]) -> bool:
    if isinstance(type_, Scalar):
        return type_.kind in (ScalarKind.ANY, ScalarKind.RAW)
    if isinstance(type_, ListOf):
        return _holds_anything(type_.item, seen)
    if isinstance(type_, MapOf):
        return _holds_anything(type_.value, seen)
    if id(type_) in seen:
        return False
    seen.add(id(type_))
    if type_.preserve_unknown or not type_.fields:
        return True
    return any(_holds_anything(field.type, seen) for field in type_.fields.values() if field.name != "managedFields")


def equal_exactly(left: Any, right: Any) -> bool:
    """JSON equality: numbers by value, and a boolean is no number (as it is in Python)."""
    if left.__class__ is not right.__class__:
        return left == right and not isinstance(left, bool) and not isinstance(right, bool)
    if left.__class__ is dict:
        return left.keys() == right.keys() and all(equal_exactly(left[key], right[key]) for key in left)
    if left.__class__ is list:
        return len(left) == len(right) and all(map(equal_exactly, left, right))
    return bool(left == right)


def copy_tree(value: Any) -> Any:
    """A deep copy of a JSON tree."""
    if value.__class__ is dict:
        return {
            key: copy_tree(below) if below.__class__ is dict or below.__class__ is list else below
            for key, below in value.items()
        }
    if value.__class__ is list:
        return [copy_tree(below) if below.__class__ is dict or below.__class__ is list else below for below in value]
    return value
