"""Conversion of CEL values to JSON trees, for mutating policies."""

from __future__ import annotations

import base64
from typing import Any

from steersman.cel import times
from steersman.cel.conversions import to_string
from steersman.cel.subtypes import ObjectValue
from steersman.cel.values import Duration, EvalError, Optional, Timestamp, type_name


def to_tree(value: Any) -> Any:
    """Return a JSON tree. Raises EvalError for values without a JSON form."""
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            return int(value)
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            return [to_tree(item) for item in value]
        case dict():
            return {_key(key): to_tree(item) for key, item in value.items()}
        case Timestamp():
            return times.show_timestamp(value)
        case Duration():
            return times.show_duration(value)
        case Optional():
            return to_tree(value.value) if value.has_value else None
    raise EvalError(f"unsupported type conversion from '{type_name(value)}' to google.protobuf.Value")


def _key(key: Any) -> str:
    return to_string(key)


def object_type_error(value: Any, path: tuple[str, ...] = ("Object",)) -> str:
    """Return the error of an object literal whose type name does not match its path; empty if all match."""
    if isinstance(value, ObjectValue):
        expected = ".".join(path)
        if value.type_name != expected:
            return (
                f'unexpected type name "{value.type_name}", expected "{expected}", which matches field name path from root '
                "Object type"
            )
    if isinstance(value, dict):
        inner = value.items() if isinstance(value, ObjectValue) else ()
        return next((fault for name, item in inner if (fault := object_type_error(item, (*path, name)))), "")
    if isinstance(value, list):
        return next((fault for item in value if (fault := object_type_error(item, path))), "")
    return ""
