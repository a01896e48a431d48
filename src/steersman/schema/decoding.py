"""Decoding of an object tree as into its Go type: the hot path of every write.

`decode` checks JSON types, drops unknown fields and nulls, canonicalizes quantities, times and base64, drops what
`omitempty` drops and adds what Go always writes. Each struct gets a table of small functions on first use. They track
no paths and stop at the first error: `steersman.schema.diagnosis` then walks the tree again and words it.

Stored objects pass through protobuf upstream, so an empty list without `omitempty` reads back as null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.typemodel import Field, ListOf, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.apimachinery.workmeter import charged
from steersman.schema import diagnosis
from steersman.schema.leaves import LEAVES, PLAIN, ZEROS, Mismatch

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

__all__ = ["DecodeError", "Decoded", "decode", "zero"]

_UNITS_PER_VALUE: Final = 2
#: Findings of a walk; here one entry per unknown field.
Unknown = list[str]
Convert = Callable[[Any, Unknown], Any]


class Decoded(NamedTuple):
    """Tree as Go would hold it, and the paths of unknown fields (at most 100, as upstream)."""

    tree: Tree
    unknown: list[str]


def decode(struct: Struct, tree: Any) -> Decoded:
    """Return the tree as decoded into a type, and its unknown fields; `tree` itself is unchanged.

    Raises `DecodeError` with Go's text if a value does not fit its field. A number in that text is in its shortest
    form unless the tree came from `decode_json_exactly`: the error is then a `diagnosis.InexactError`.
    """
    unknown: Unknown = []
    try:
        decoded = _compiled(struct)(tree, unknown)
    except Mismatch:
        raise diagnosis.first_error(struct, tree) from None
    return Decoded(decoded, diagnosis.unknown_fields(struct, tree) if unknown else unknown)


def zero(struct: Struct) -> Tree:
    """Return Go's encoding of the type's zero value."""
    tree: Tree = _compiled(struct)({}, [])
    return tree


def _compiled(struct: Struct) -> Convert:
    convert: Convert | None = struct.decoder
    if convert is None:
        convert = struct.decoder = _compile_struct(struct)
    return convert


def _compile_struct(struct: Struct) -> Convert:
    """Return the decoder of a struct; its table is filled on the first call, as types may be recursive."""
    table: dict[str, tuple[type | None, bool, Convert]] = {}
    always: list[tuple[str, Any, Convert | None]] = []
    get = table.get
    preserve = struct.preserve_unknown

    def fill() -> None:
        fields = struct.fields.values()
        always[:] = [(field.name, _zero_of(field), _fresh(field)) for field in fields if field.required]
        table.update(
            (field.name, (_plain_type(field), field.required or field.keep_zero, _compile_field(field)))
            for field in fields
        )

    def convert(tree: Any, unknown: Unknown) -> Any:
        if type(tree) is not dict:
            raise Mismatch
        if not table:
            fill()
        fields: Tree = tree  # typed, as compiled code then reads it directly
        out: Tree = {}
        for name, value in fields.items():
            entry = get(name)
            if entry is None:
                if preserve:
                    out[name] = value
                else:
                    unknown.append(name)
                continue
            plain, keep, convert_field = entry
            if type(value) is not plain:
                if value is None:
                    continue
                value = convert_field(value, unknown)
            if value or keep:
                out[name] = value
        for name, value, fresh in always:
            if name not in out:
                out[name] = value if fresh is None else fresh({}, unknown)
        return out

    return convert


def _plain_type(field: Field) -> type | None:
    """Return the Python type of values that need no conversion."""
    return PLAIN.get(field.type.kind) if isinstance(field.type, Scalar) else None


def _zero_of(field: Field) -> Any:
    """Return Go's encoding of an absent field; structs held by value are created for each object instead."""
    if field.keep_zero or not isinstance(field.type, Scalar):
        return None
    return ZEROS[field.type.kind]


def _fresh(field: Field) -> Convert | None:
    return _compiled(field.type) if isinstance(field.type, Struct) and not field.keep_zero else None


def _compile_field(field: Field) -> Convert:
    if isinstance(field.type, (ListOf, MapOf)) and field.required:
        return _none_for_empty(_compile(field.type))
    if field.omit_zero and isinstance(field.type, Struct):
        return _none_for_zero(_compile(field.type), field.type)
    return _compile(field.type)


def _none_for_empty(inner: Convert) -> Convert:
    def convert(value: Any, unknown: Unknown) -> Any:
        return inner(value, unknown) or None

    return convert


def _none_for_zero(inner: Convert, struct: Struct) -> Convert:
    def convert(value: Any, unknown: Unknown) -> Any:
        decoded = inner(value, unknown)
        return None if decoded == zero(struct) else decoded

    return convert


def _compile(type_: Type) -> Convert:
    if isinstance(type_, Struct):
        return _compiled(type_)
    if isinstance(type_, ListOf):
        return _compile_list(type_.item)
    if isinstance(type_, MapOf):
        return _compile_map(type_.value)
    return _compile_leaf(type_.kind)


def _compile_leaf(kind: ScalarKind) -> Convert:
    if kind in _SCHEMA_OR:
        return _SCHEMA_OR[kind]
    return LEAVES[kind]


def _null_item(type_: Type) -> Convert:
    """Return the value that replaces a null in a list or map: the element's zero value."""
    if isinstance(type_, Struct):
        compiled = _compiled(type_)
        return lambda _, unknown: compiled({}, unknown)
    value = ZEROS[type_.kind] if isinstance(type_, Scalar) else None
    return lambda _, __: value


def _compile_list(item: Type) -> Convert:
    plain = PLAIN.get(item.kind) if isinstance(item, Scalar) else None
    convert_item = _compile(item)
    null_item = _null_item(item)

    def convert(value: Any, unknown: Unknown) -> Any:
        if type(value) is not list:
            raise Mismatch
        return [
            element if type(element) is plain else (null_item if element is None else convert_item)(element, unknown)
            for element in charged(value, _UNITS_PER_VALUE)
        ]

    return convert


def _compile_map(item: Type) -> Convert:
    plain = PLAIN.get(item.kind) if isinstance(item, Scalar) else None
    convert_item = _compile(item)
    # Protobuf has no null bytes in a map.
    empty_bytes = isinstance(item, Scalar) and item.kind is ScalarKind.BYTES
    null_item = (lambda _, __: "") if empty_bytes else _null_item(item)

    def convert(value: Any, unknown: Unknown) -> Any:
        if type(value) is not dict:
            raise Mismatch
        return {
            key: element
            if type(element) is plain
            else (null_item if element is None else convert_item)(element, unknown)
            for key, element in charged(value.items(), _UNITS_PER_VALUE)
        }

    return convert


def _schema() -> Convert:
    from steersman.schema.loader import struct  # noqa: PLC0415 — the loader is not needed for anything else here

    return _compiled(struct("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"))


def _schema_or_bool(value: Any, _: Unknown) -> Any:
    """Decode leniently, as Go's own decoders of these types: unknown fields below are dropped without a report."""
    if type(value) is bool:
        return value
    if type(value) is dict:
        return _schema()(value, [])
    raise Mismatch


def _schema_or_array(value: Any, _: Unknown) -> Any:
    if type(value) is dict:
        return _schema()(value, [])
    if type(value) is list:
        schema = _schema()
        return [schema({} if element is None else element, []) for element in value] or None
    return None


def _schema_or_strings(value: Any, _: Unknown) -> Any:
    if type(value) is dict:
        return _schema()(value, [])
    if type(value) is list:
        return _compile_list(Scalar(ScalarKind.STRING))(value, []) or None
    return None


_SCHEMA_OR: dict[ScalarKind, Convert] = {
    ScalarKind.SCHEMA_OR_BOOL: _schema_or_bool,
    ScalarKind.SCHEMA_OR_ARRAY: _schema_or_array,
    ScalarKind.SCHEMA_OR_STRINGS: _schema_or_strings,
}
