"""Empty objects of built-in kinds: the base that a create is compared with.

A creator owns ``f:spec`` itself (``.``) only if the empty object has no spec.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.typemodel import Field, Scalar, ScalarKind, Struct

_SCALARS: Final[dict[ScalarKind, Any]] = {
    ScalarKind.STRING: "",
    ScalarKind.INT32: 0,
    ScalarKind.INT64: 0,
    ScalarKind.NUMBER: 0,
    ScalarKind.BOOLEAN: False,
    ScalarKind.QUANTITY: "0",
    ScalarKind.INT_OR_STRING: 0,
    ScalarKind.DURATION: "0s",
}


def zero_value(struct: Struct) -> dict[str, Any]:
    """Return Go's encoding of an empty struct. Shared: do not mutate. A custom type has only its metadata."""
    value = struct.zero_value
    if value is None:
        fields = [field for field in struct.fields.values() if field.required and not field.omit_zero]
        value = struct.zero_value = {field.name: _zero(field) for field in fields}
    return value


def _zero(field: Field) -> Any:
    """Return the zero value; null for lists, maps, times and pointers."""
    type_ = field.type
    if field.keep_zero:  # a pointer
        return None
    if isinstance(type_, Struct):
        return zero_value(type_)
    return _SCALARS.get(type_.kind) if isinstance(type_, Scalar) else None
