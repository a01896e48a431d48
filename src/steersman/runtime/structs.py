"""Field access for objects that are typed structs or plain trees."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def field(obj: Any, name: str) -> Any:
    """Return a field by its JSON name; None if it is absent."""
    return obj.get(name) if isinstance(obj, dict) else getattr(obj, name, None)


def replaced(obj: T, **fields: Any) -> T:
    """Return a shallow copy with other values; None removes a field."""
    if isinstance(obj, dict):
        merged = {**obj, **fields}
        return {key: value for key, value in merged.items() if value is not None}  # type: ignore[return-value]
    return msgspec.structs.replace(obj, **fields)  # type: ignore[type-var]


def with_metadata(obj: T, **fields: Any) -> T:
    """Return a copy with other values in its metadata."""
    return replaced(obj, metadata=replaced(field(obj, "metadata"), **fields))
