"""Bodies in Kubernetes' protobuf (``application/vnd.kubernetes.protobuf``) as trees.

``kubectl create`` and Go's typed clients write it; answers are JSON, which all of them accept. The wire format is
protobuf's (proto2, as gogo writes it); which number is which field stands in a generated table. Like the JSON that a
client sends, the tree still has to be decoded (``schema.decoding``): Go writes zero values here that JSON leaves out.
"""

from __future__ import annotations

import base64
import math
import struct as structs
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.gotext import float_text
from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree


MAGIC: Final = b"k8s\x00"
_TABLE: Final = Path(__file__).parent / "generated" / "protobuf.json"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: As deep as no real object is; deeper ones are refused before Python's stack is.
_DEPTH_MAX: Final = 100

_DOUBLE: Final = structs.Struct("<d")

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Envelope(msgspec.Struct, frozen=True):
    """What a body says of itself, and the message in it (``runtime.Unknown``)."""

    api_version: str
    kind: str
    raw: bytes


def open_envelope(body: bytes) -> Envelope:
    """Raises DecodeError when the body is not in the format."""
    if not body.startswith(MAGIC):
        raise DecodeError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    type_meta: dict[int, str] = {}
    raw = b""
    for number, value in _fields(body[len(MAGIC) :]):
        if number == 1:
            type_meta = {n: _text(v) for n, v in _fields(_message(value))}
        elif number == 2:
            raw = _message(value)
    return Envelope(type_meta.get(1, ""), type_meta.get(2, ""), raw)


def decode_body(body: bytes) -> Tree:
    """The object of a whole body, with the kind and apiVersion that it says. Raises DecodeError."""
    envelope = open_envelope(body)
    group, _, version = envelope.api_version.rpartition("/")
    try:
        struct = struct_for(group, version, envelope.kind)
    except KeyError:
        raise DecodeError(
            f'no kind "{envelope.kind}" is registered for version "{envelope.api_version}" in protobuf'
        ) from None
    return {"kind": envelope.kind, "apiVersion": envelope.api_version, **decode_message(struct, envelope.raw)}


def decode_message(struct: Struct, raw: bytes) -> Tree:
    """The tree of a message. Numbers that the table does not know are passed over. Raises DecodeError."""
    if struct.name not in _table():
        raise DecodeError(f"{struct.go_name} is not read in protobuf")
    return _decode(struct, raw, 0)


@cache
def _table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = msgspec.json.decode(_TABLE.read_bytes())
    return table


def _decode(struct: Struct, raw: bytes, depth: int) -> Tree:
    if depth > _DEPTH_MAX:
        raise DecodeError("exceeded max depth")
    tree: Tree = {}
    _into(tree, struct, struct.name, raw, depth)
    return tree


def _into(tree: Tree, struct: Struct, message: str, raw: bytes, depth: int) -> None:
    """Read the fields of ``message`` into the object of ``struct`` (they differ for parts that JSON does not nest)."""
    names = _table().get(message, {})
    for number, value in _fields(raw):
        name = names.get(str(number))
        if name is None:
            continue
        if name.startswith("*"):
            _into(tree, struct, name[1:], _message(value), depth + 1)
        elif field := struct.fields.get(name):
            _add(tree, name, field.type, value, depth)


def _add(tree: Tree, name: str, type_: Type, value: int | bytes, depth: int) -> None:
    """One occurrence of a field: repeated ones grow, others take the last."""
    match type_:
        case ListOf():
            items = tree.setdefault(name, [])
            if isinstance(type_.item, Scalar) and isinstance(value, bytes) and type_.item.kind in _NUMBERS:
                items += [_scalar(type_.item.kind, number) for number in _packed(value)]
            else:
                items.append(_value(type_.item, value, depth))
        case MapOf():
            entry = dict(_fields(_message(value)))
            key = _text(entry.get(1, b""))
            tree.setdefault(name, {})[key] = _map_value(type_.value, entry.get(2, b""), depth)
        case _:
            tree[name] = _value(type_, value, depth)


def _map_value(type_: Type, value: int | bytes, depth: int) -> Any:
    if isinstance(type_, ListOf):  # Go types such as ``ExtraValue`` are messages of their own
        return [_value(type_.item, item, depth) for number, item in _fields(_message(value)) if number == 1]
    return _value(type_, value, depth)


def _value(type_: Type, value: int | bytes, depth: int) -> Any:
    match type_:
        case Struct():
            return _decode(type_, _message(value), depth + 1)
        case Scalar():
            return _scalar(type_.kind, value)
        case _:
            raise DecodeError("a list of lists cannot be in protobuf")


_NUMBERS: Final = frozenset({ScalarKind.INT32, ScalarKind.INT64, ScalarKind.BOOLEAN})


def _scalar(kind: ScalarKind, value: int | bytes) -> Any:
    match kind:
        case ScalarKind.STRING:
            return _text(value)
        case ScalarKind.INT32 | ScalarKind.INT64:
            return _signed(value)
        case ScalarKind.BOOLEAN:
            return bool(_signed(value))
        case ScalarKind.NUMBER:
            return _double(_message(value))
        case ScalarKind.BYTES:
            return base64.b64encode(_message(value)).decode()
        case ScalarKind.TIME | ScalarKind.MICRO_TIME:
            return _time(_message(value), fraction=kind is ScalarKind.MICRO_TIME)
        case ScalarKind.DURATION:
            return _duration(_message(value))
        case ScalarKind.QUANTITY:
            return _text(dict(_fields(_message(value))).get(1, b""))
        case ScalarKind.INT_OR_STRING:
            parts = dict(_fields(_message(value)))
            return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))
        case _:
            raw = _message(dict(_fields(_message(value))).get(1, b""))
            return decode_json(raw) if raw else None


def _double(raw: bytes) -> float:
    if len(raw) != _DOUBLE.size:
        raise DecodeError("proto: wrong wireType for a double")
    number: float = _DOUBLE.unpack(raw)[0]
    if not math.isfinite(number):  # JSON has no way to write it
        raise DecodeError(f"json: unsupported value: {float_text(number)}")
    return number


def _time(raw: bytes, *, fraction: bool) -> str | None:
    """Seconds and nanoseconds since 1970; an empty message is no time at all."""
    parts = dict(_fields(raw))
    if not parts:
        return None
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise DecodeError(f"time out of range: {seconds}") from None
    text = f"{moment.year:04d}{moment:-%m-%dT%H:%M:%S}"  # %Y does not pad
    return f"{text}.{moment.microsecond:06d}Z" if fraction else f"{text}Z"


def _duration(raw: bytes) -> str:
    nanos = _signed(dict(_fields(raw)).get(1, 0))
    return f"{nanos / 1e9:.9f}".rstrip("0").rstrip(".") + "s"


# -- the wire -------------------------------------------------------------------------------------------------------


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of a message, in order. Raises DecodeError."""
    at, end = 0, len(raw)
    while at < end:
        key, at = _varint(raw, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(raw, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise DecodeError(f"proto: illegal wireType {wire}")
        if at + size > end:
            raise DecodeError("unexpected EOF")
        yield number, raw[at : at + size]
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(raw):
            raise DecodeError("unexpected EOF")
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        if shift >= 64:
            raise DecodeError("proto: integer overflow")


def _packed(raw: bytes) -> Iterator[int]:
    at = 0
    while at < len(raw):
        value, at = _varint(raw, at)
        yield value


def _signed(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise DecodeError("proto: wrong wireType for an integer")
    return value - (1 << 64) if value >= 1 << 63 else value


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise DecodeError("proto: wrong wireType for a message")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _message(value).decode()
    except UnicodeDecodeError:
        raise DecodeError("proto: a text is not valid UTF-8") from None
