"""Conversion of a tree to its Go type without a decoder, as patches are converted: strategic merges and applies.

It differs from decoding JSON: integers wrap to their width, whole floats are integers, and errors name neither field nor
struct. Only trees that do not decode need it.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go
"""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.envelope import json_type
from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.schema.leaves import LEAVES, Malformed, Mismatch

_BITS: Final = {ScalarKind.INT32: 32, ScalarKind.INT64: 64}
_TARGETS: Final = {
    ScalarKind.STRING: "string",
    ScalarKind.BOOLEAN: "bool",
    ScalarKind.NUMBER: "float64",
    ScalarKind.INT32: "int32",
    ScalarKind.INT64: "int64",
}
_INT64_END: Final = 2**63
_GO_KINDS: Final = {"array": "slice", "object": "map"}


def from_unstructured(type_: Type, value: Any) -> Any:
    """Return a value as a tree that decodes into a type, with the numbers that upstream stores. Raises ``DecodeError``."""
    if value is None:
        return None
    if isinstance(type_, Struct):
        if not isinstance(value, dict):
            raise DecodeError(f"cannot restore struct from: {_kind(value)}")
        return value | {
            name: from_unstructured(field.type, value[name]) for name, field in type_.fields.items() if name in value
        }
    if isinstance(type_, ListOf):
        if not isinstance(value, list):
            raise DecodeError(f"cannot restore slice from {_kind(value)}")
        return [from_unstructured(type_.item, item) for item in value]
    if isinstance(type_, MapOf):
        if not isinstance(value, dict):
            raise DecodeError(f"cannot restore map from {_kind(value)}")
        return {key: from_unstructured(type_.value, item) for key, item in value.items()}
    return _scalar(type_, value)


def _scalar(type_: Scalar, value: Any) -> Any:
    bits = _BITS.get(type_.kind)
    if bits is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _integer(value, bits)
    leaf = LEAVES.get(type_.kind)
    if leaf is None:  # schemas of custom resource definitions have decoders of their own
        return value
    try:
        leaf(value)
    except Malformed as error:
        prefix = "error decoding from json: " if type_.kind is ScalarKind.BYTES else ""
        raise DecodeError(f"{prefix}{error}") from None
    except Mismatch:
        raise DecodeError(_mismatch(type_.kind, value)) from None
    return value


def _integer(value: float, bits: int) -> int:
    """Convert a number as Go converts between integer types; floats beyond 64 bits become the least integer first."""
    if isinstance(value, float) and not value.is_integer():
        raise DecodeError(f"cannot convert float64 to int{bits}")
    whole = int(value)
    if not -_INT64_END <= whole < _INT64_END:
        whole = -_INT64_END
    half = 1 << (bits - 1)
    return (whole + half) % (1 << bits) - half


def _mismatch(kind: ScalarKind, value: Any) -> str:
    target = _TARGETS.get(kind)
    if target is not None:
        source = _kind(value)
        return (
            f"cannot convert int64 to {target}"
            if (source, target) == ("int64", "string")
            else f"unrecognized type: {target}"
        )
    if kind is ScalarKind.BYTES:
        return f"cannot restore slice from {_kind(value)}"
    number = f" {value}" if kind is ScalarKind.INT_OR_STRING and json_type(value) == "number" else ""
    into = "int32" if kind is ScalarKind.INT_OR_STRING else "string"
    return f"json: cannot unmarshal {json_type(value)}{number} into Go value of type {into}"


def _kind(value: Any) -> str:
    if isinstance(value, float) or (isinstance(value, int) and not -_INT64_END <= value < _INT64_END):
        return "float64"
    if isinstance(value, int) and not isinstance(value, bool):
        return "int64"
    return _GO_KINDS.get(json_type(value), json_type(value))
