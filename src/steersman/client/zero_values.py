"""Conversion of trees into structs with Go's zero values for required fields that are missing or ``null``.

A field of raw JSON (``FieldsV1``, ``RawExtension``), which Go reads whatever it is, is absent if it is no object: structs have
no type for others.
"""

from __future__ import annotations

import types
import typing
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_ZEROS: dict[type, Any] = {
    str: "",
    int: 0,
    float: 0.0,
    bool: False,
    list: [],
    dict: {},
    tuple: (),
    datetime: datetime(1, 1, 1, tzinfo=UTC),
}


def fit(value: Any, target: type[T]) -> T:
    """Convert ``value`` to ``target``, with zero values for missing or null required fields. Raises ValidationError."""
    return msgspec.convert(_filled(value, target), target)


def _filled(value: Any, target: Any) -> Any:
    origin, arguments = typing.get_origin(target), typing.get_args(target)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        rest = [part for part in arguments if part is not types.NoneType]
        if _is_raw(rest[0]) and not isinstance(value, dict):
            return None
        return _filled(value, rest[0]) if len(rest) == 1 else value
    if origin is list and isinstance(value, list) and arguments:
        return [_filled(item, arguments[0]) for item in value]
    if origin is dict and isinstance(value, dict) and len(arguments) == 2:
        return {key: _filled(item, arguments[1]) for key, item in value.items()}
    if _is_raw(target) and not isinstance(value, dict):
        return {}
    if value is None:
        plain = origin or target
        if plain in _ZEROS:
            return _ZEROS[plain]
        value = {} if _is_struct(target) else None
    if _is_struct(target) and isinstance(value, dict):
        return _filled_struct(value, target)
    return value


def _filled_struct(value: dict[str, Any], target: type) -> dict[str, Any]:
    filled = dict(value)
    for name, kind, required in _fields(target):
        if required or value.get(name) is not None:
            filled[name] = _filled(value.get(name), kind)
        else:  # null of an optional field: use the default
            filled.pop(name, None)
    return filled


@cache
def _fields(struct: type) -> tuple[tuple[str, Any, bool], ...]:
    """Return encoded name, type and required flag of each field."""
    return tuple((f.encode_name, f.type, f.required) for f in msgspec.structs.fields(struct))


def _is_raw(target: Any) -> bool:
    """True for ``typing.Dict`` without parameters: raw JSON in the models."""
    return typing.get_origin(target) is dict and not typing.get_args(target)


def _is_struct(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, msgspec.Struct)
