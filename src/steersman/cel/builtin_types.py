"""CEL types of built-in kinds, derived from the generated type model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from steersman.apimachinery import typemodel as m
from steersman.cel import types as t
from steersman.cel.openapi import escape

#: A quantity is a string or a number, so its OpenAPI schema has no type and upstream declares no field for it; nor does
#: ours for JSON of any type.
_SCALARS: Final = {
    m.ScalarKind.STRING: t.STRING,
    m.ScalarKind.INT32: t.INT,
    m.ScalarKind.INT64: t.INT,
    m.ScalarKind.NUMBER: t.DOUBLE,
    m.ScalarKind.BOOLEAN: t.BOOL,
    m.ScalarKind.BYTES: t.BYTES,
    m.ScalarKind.TIME: t.TIMESTAMP,
    m.ScalarKind.MICRO_TIME: t.TIMESTAMP,
    m.ScalarKind.DURATION: t.STRING,
    m.ScalarKind.INT_OR_STRING: t.DYN,
}


class _Fields(Mapping[str, t.Type]):
    """Fields of a struct, resolved on demand because few are used. A struct within itself has no fields, as upstream."""

    def __init__(self, struct: m.Struct, containing: frozenset[str]) -> None:
        self._struct: Final = struct
        self._containing: Final = containing | {struct.name}
        self._names: Final = {escaped: name for name in struct.fields if (escaped := escape(name))}

    def __getitem__(self, name: str) -> t.Type:
        declared = _declare(self._struct.fields[self._names[name]].type, self._containing)
        if declared is None:
            raise KeyError(name)
        return declared

    def __iter__(self) -> Iterator[str]:
        return (
            escaped
            for escaped, name in self._names.items()
            if _declare(self._struct.fields[name].type, self._containing) is not None
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)


def declare_struct(struct: m.Struct, containing: frozenset[str] = frozenset()) -> t.Type:
    """Return the object type of a struct. ``containing``: names of the structs that contain it.

    Upstream: staging/src/k8s.io/apiserver/pkg/cel/openapi/resolver/refs.go.
    """
    if struct.name in containing:
        return t.object_type("object", {})
    keys = {escaped: name for name in struct.fields if (escaped := escape(name)) and escaped != name}
    return t.object_type(struct.go_name, _Fields(struct, containing), keys)


def _declare(type_: m.Type, containing: frozenset[str]) -> t.Type | None:
    match type_:
        case m.Struct():
            return declare_struct(type_, containing)
        case m.ListOf():
            item = _declare(type_.item, containing)
            return None if item is None else t.list_of(item)
        case m.MapOf():
            value = _declare(type_.value, containing)
            return None if value is None else t.map_of(t.STRING, value)
        case m.Scalar():
            return t.object_type("object", {}) if type_.kind is m.ScalarKind.RAW else _SCALARS.get(type_.kind)
