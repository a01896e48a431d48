"""Trees into structs where Go's encoder left out, or wrote ``null`` for, what the struct says is there."""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_ZEROS: dict[type, Any] = {str: "", int: 0, float: 0.0, bool: False, list: [], dict: {}, tuple: ()}


def fit(value: Any, wanted: type[T]) -> T:
    """``value`` as ``wanted``, with zero values for required parts that are missing or null. Raises ValidationError."""
    return msgspec.convert(_filled(value, wanted), wanted)


def _filled(value: Any, wanted: Any) -> Any:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        rest = [part for part in arguments if part is not types.NoneType]
        return _filled(value, rest[0]) if len(rest) == 1 else value
    if origin is list and isinstance(value, list) and arguments:
        return [_filled(item, arguments[0]) for item in value]
    if origin is dict and isinstance(value, dict) and len(arguments) == 2:
        return {key: _filled(item, arguments[1]) for key, item in value.items()}
    if value is None:
        plain = origin or wanted
        if plain in _ZEROS:
            return _ZEROS[plain]
        value = {} if _is_struct(wanted) else None
    if _is_struct(wanted) and isinstance(value, dict):
        return _filled_struct(value, wanted)
    return value


def _filled_struct(value: dict[str, Any], wanted: type) -> dict[str, Any]:
    filled = dict(value)
    for name, kind, required in _fields(wanted):
        if required or value.get(name) is not None:
            filled[name] = _filled(value.get(name), kind)
        else:  # null where a default is: as if it were not there
            filled.pop(name, None)
    return filled


@cache
def _fields(struct: type) -> tuple[tuple[str, Any, bool], ...]:
    """Encoded name, type, and whether it must be there, of each field."""
    return tuple((f.encode_name, f.type, f.required) for f in msgspec.structs.fields(struct))


def _is_struct(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, msgspec.Struct)
