"""Errors of a tree that does not fit its type, in the words of Go's JSON decoder.

Go continues after a value of the wrong JSON type and reports the first of them at the end, but stops at once at a value
whose own parser (time, quantity) rejects it. Both errors name the innermost struct and the dotted path without indices;
unknown fields are reported by path with indices and map keys.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.schema.leaves import LEAVES, Malformed, Mismatch

#: Strict decoding reports at most this many errors of one text.
STRICT_ERRORS_MAX: Final = 100
_BASE64_KINDS: Final = frozenset({ScalarKind.BYTES})
_SILENT_KINDS: Final = frozenset({ScalarKind.SCHEMA_OR_BOOL, ScalarKind.SCHEMA_OR_ARRAY, ScalarKind.SCHEMA_OR_STRINGS})
_GO_TYPES: Final = {
    ScalarKind.STRING: "string",
    ScalarKind.INT32: "int32",
    ScalarKind.INT64: "int64",
    ScalarKind.NUMBER: "float64",
    ScalarKind.BOOLEAN: "bool",
    ScalarKind.BYTES: "[]uint8",
    ScalarKind.TIME: "v1.Time",
    ScalarKind.MICRO_TIME: "v1.MicroTime",
    ScalarKind.DURATION: "v1.Duration",
    ScalarKind.QUANTITY: "resource.Quantity",
    ScalarKind.INT_OR_STRING: "intstr.IntOrString",
    ScalarKind.ANY: "v1.JSON",
    ScalarKind.RAW: "runtime.RawExtension",
}
#: JSON types that the parsers of these kinds expect.
_EXPECTED_TYPES: Final = {ScalarKind.TIME: "string", ScalarKind.MICRO_TIME: "string", ScalarKind.INT_OR_STRING: "int32"}
_NUMBER_KINDS: Final = frozenset({ScalarKind.INT32, ScalarKind.INT64, ScalarKind.NUMBER, ScalarKind.INT_OR_STRING})


class InexactError(DecodeError):
    """The message contains a number whose text the tree does not have."""


def first_error(struct: Struct, tree: Any) -> DecodeError:
    """Return the error of Go's decoder for a tree that does not fit."""
    walk = _Walk()
    try:
        walk.struct(struct, tree, owner="", go_path="", path="")
    except _Stop as stop:
        return stop.error
    return walk.error or DecodeError("json: the object does not fit its type")


def unknown_fields(struct: Struct, tree: Any) -> list[str]:
    """Return the paths of all unknown fields, each once, in the order of the text, at most 100."""
    walk = _Walk()
    walk.struct(struct, tree, owner="", go_path="", path="")
    return list(walk.unknown)[:STRICT_ERRORS_MAX]


class _Stop(Exception):  # noqa: N818 — the error that ends the walk
    def __init__(self, error: DecodeError) -> None:
        super().__init__(str(error))
        self.error = error


class _Walk:
    """One pass over a tree. `owner` is the innermost struct's Go name, `go_path` the fields below the root."""

    def __init__(self) -> None:
        self.error: DecodeError | None = None
        self.fault: _Fault | None = None
        self.unknown: dict[str, None] = {}

    def visit(self, type_: Type, value: Any, *, owner: str, go_path: str, path: str) -> None:
        if value is None:
            return
        if isinstance(type_, Struct):
            self.struct(type_, value, owner=owner, go_path=go_path, path=path)
        elif isinstance(type_, ListOf):
            if not isinstance(value, list):
                self.mismatch(value, type_, owner=owner, go_path=go_path)
                return
            for index, item in enumerate(value):
                self.visit(type_.item, item, owner=owner, go_path=go_path, path=f"{path}[{index}]")
        elif isinstance(type_, MapOf):
            if not isinstance(value, dict):
                self.mismatch(value, type_, owner=owner, go_path=go_path)
                return
            for key, item in value.items():
                self.visit(type_.value, item, owner=owner, go_path=go_path, path=f"{path}.{key}" if path else key)
        else:
            self.leaf(type_, value, owner=owner, go_path=go_path)

    def struct(self, struct: Struct, value: Any, *, owner: str, go_path: str, path: str) -> None:
        if not isinstance(value, dict):
            self.mismatch(value, struct, owner=owner, go_path=go_path)
            return
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            field = struct.fields.get(name)
            if field is not None:
                go_below = f"{go_path}.{name}" if go_path else name
                self.visit(field.type, item, owner=struct.go_name, go_path=go_below, path=below)
            elif not struct.preserve_unknown:
                self.unknown[below] = None

    def leaf(self, scalar: Scalar, value: Any, *, owner: str, go_path: str) -> None:
        if scalar.kind in _SILENT_KINDS:
            self.schema(scalar.kind, value, owner=owner, go_path=go_path)
            return
        try:
            LEAVES[scalar.kind](value)
        except Malformed as error:
            if scalar.kind not in _BASE64_KINDS:
                raise _Stop(DecodeError(str(error))) from None
            self.error = self.error or DecodeError(str(error))
        except Mismatch:
            self.mismatch(value, scalar, owner=owner, go_path=go_path)

    def schema(self, kind: ScalarKind, value: Any, *, owner: str, go_path: str) -> None:
        """Decode with the schema's own decoder, which reports errors at the outer field and ends the walk."""
        from steersman.schema.loader import struct  # noqa: PLC0415 — only definitions of custom resources hold schemas

        props = struct("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
        inner = _Walk()
        if isinstance(value, dict):
            inner.struct(props, value, owner="", go_path="", path="")
        elif isinstance(value, list) and kind is not ScalarKind.SCHEMA_OR_BOOL:
            item: Type = props if kind is ScalarKind.SCHEMA_OR_ARRAY else Scalar(ScalarKind.STRING)
            inner.visit(ListOf(item), value, owner="", go_path="", path="")
        elif kind is ScalarKind.SCHEMA_OR_BOOL and not isinstance(value, bool):
            raise _Stop(DecodeError("boolean or JSON schema expected"))
        if inner.fault is not None:
            raise _Stop(inner.fault.at(owner, go_path))

    def mismatch(self, value: Any, type_: Type, *, owner: str, go_path: str) -> None:
        fault = _Fault(*_json_type_text(value, type_), _expected_type(type_))
        if isinstance(type_, Scalar) and type_.kind in _EXPECTED_TYPES:
            raise _Stop(fault.at(owner, go_path))
        if self.fault is None:
            self.fault = fault
            self.error = self.error or fault.at(owner, go_path)


class _Fault(NamedTuple):
    """Value of the wrong JSON type."""

    json_type: str
    exact: bool
    expected: str

    def at(self, owner: str, go_path: str) -> DecodeError:
        place = f"Go struct field {owner}.{go_path}" if go_path else "Go value"
        text = f"json: cannot unmarshal {self.json_type} into {place} of type {self.expected}"
        return DecodeError(text) if self.exact else InexactError(text)


def _expected_type(type_: Type) -> str:
    expected = _EXPECTED_TYPES.get(type_.kind) if isinstance(type_, Scalar) else None
    return expected or go_type(type_)


def _json_type_text(value: Any, type_: Type) -> tuple[str, bool]:
    """A value's JSON type as Go names it, and whether that is surely as the text had it."""
    if isinstance(value, bool):
        return "bool", True
    if isinstance(value, (int, float)):
        if not (isinstance(type_, Scalar) and type_.kind in _NUMBER_KINDS):
            return "number", True
        written = getattr(value, "text", None)
        return f"number {written or value}", written is not None or isinstance(value, int)
    if isinstance(value, str):
        return "string", True
    return ("array" if isinstance(value, list) else "object"), True


def go_type(type_: Type) -> str:
    """Return the type as Go prints it: ``[]v1.ServicePort``, ``map[string]string``."""
    if isinstance(type_, ListOf):
        return f"[]{go_type(type_.item)}"
    if isinstance(type_, MapOf):
        return f"map[string]{go_type(type_.value)}"
    if isinstance(type_, Struct):
        package = type_.name.rpartition(".")[0].rpartition(".")[2]
        return f"{package}.{type_.go_name}" if package else type_.go_name
    return _GO_TYPES.get(type_.kind, type_.kind.value)
