"""Decoding of protobuf messages to object trees, as by upstream's generated decoders.

Unknown fields are skipped, repeated fields append, and of other fields the last value wins (messages are merged). Go's
encoders write zero values that JSON omits; ``schema.decoding`` drops them.
"""

from __future__ import annotations

import base64
import math
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.gotext import float_text
from steersman.apimachinery.protowire import BYTES, VARINT, fixed_size, read_varint, wire_fields
from steersman.schema.protobuf_messages import fields_of
from steersman.schema.prototime import micro_time_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.schema.protobuf_messages import MessageField

_SCHEMA_PROPS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
#: Deeper messages are rejected before the interpreter's stack overflows.
_DEPTH_MAX: Final = 200


class MessageDecoder:
    """Decodes messages of one type."""

    __slots__ = ("_fields", "definition")

    def __init__(self, definition: str) -> None:
        self.definition: Final = definition
        self._fields: dict[int, FieldDecoder] | None = None

    def decode(self, raw: bytes, depth: int = 0) -> Tree:
        """Return the tree of a message. Raises DecodeError."""
        tree: Tree = {}
        self.merge(tree, raw, depth)
        return tree

    def merge(self, tree: Tree, raw: bytes, depth: int) -> None:
        """Set the fields of a message in ``tree``. Raises DecodeError."""
        if depth > _DEPTH_MAX:
            raise DecodeError("exceeded max depth")
        fields = self._fields
        if fields is None:
            fields = self._fields = {field.number: FieldDecoder(field) for field in fields_of(self.definition)}
        at, end = 0, len(raw)
        while at < end:
            # Inlined ``wire_fields``: this loop runs for every field of every object.
            key = raw[at]
            at += 1
            if key >= 0x80:
                key, at = read_varint(raw, at - 1)
            wire = key & 7
            if wire == VARINT:
                value, at = read_varint(raw, at)
                field = fields.get(key >> 3)
                if field is not None:
                    field.take(tree, value, depth)
                continue
            if wire == BYTES:
                size, at = read_varint(raw, at)
            else:
                size = fixed_size(wire)
            if at + size > end:
                raise DecodeError("unexpected EOF")
            field = fields.get(key >> 3)
            if field is not None:
                field.take(tree, raw[at : at + size], depth)
            at += size


@cache
def decoder_of(definition: str) -> MessageDecoder:
    """Return the decoder of a type, ``io.k8s.api.core.v1.Pod``. Raises KeyError for a type without a message."""
    fields_of(definition)
    return MessageDecoder(definition)


class FieldDecoder:
    """Decodes the occurrences of one field."""

    __slots__ = ("_field", "_is_string", "_message", "_name")

    def __init__(self, field: MessageField) -> None:
        self._field: Final = field
        self._name: Final = field.json_name
        self._message: Final = decoder_of(field.message) if field.message else None
        self._is_string: Final = field.type == "string" and not field.is_list and not field.is_map

    def take(self, tree: Tree, value: int | bytes, depth: int) -> None:
        """Set or extend the field in ``tree``. Raises DecodeError."""
        name = self._name
        if self._is_string:
            tree[name] = text_of(value)
            return
        field = self._field
        if field.is_list:
            self._extend(tree.setdefault(name, []), value, depth)
        elif field.is_map:
            key, element = self._entry(_message(value), depth)
            tree.setdefault(name, {})[key] = element
        elif self._message is None:
            tree[name] = _leaf(field.type, value, depth)
        elif not name:
            self._message.merge(tree, _message(value), depth + 1)
        else:
            merged = tree.get(name)
            if merged is None:
                merged = tree[name] = {}
            self._message.merge(merged, _message(value), depth + 1)

    def _extend(self, items: list[Any], value: int | bytes, depth: int) -> None:
        kind = self._field.type
        if isinstance(value, bytes) and kind in _PACKABLE:
            items += [_leaf(kind, number, depth) for number in _packed(value)]
        else:
            items.append(self._element(value, depth))

    def _entry(self, raw: bytes, depth: int) -> tuple[str, Any]:
        """Return key and value of a map entry; an absent value is the zero value."""
        key = ""
        value: int | bytes | None = None
        for number, part in wire_fields(raw):
            if number == 1:
                key = text_of(part)
            elif number == 2:
                value = part
        if value is None:
            value = 0 if self._field.type in _PACKABLE else b""
        return key, self._element(value, depth)

    def _element(self, value: int | bytes, depth: int) -> Any:
        if self._message is not None:
            return self._message.decode(_message(value), depth + 1)
        return _leaf(self._field.type, value, depth)


_PACKABLE: Final = frozenset({"int32", "int64", "bool"})


def _leaf(kind: str, value: int | bytes, depth: int) -> Any:
    match kind:
        case "bool":
            return bool(_signed(value))
        case "int32":
            return _truncated(_signed(value))
        case "int64":
            return _signed(value)
        case "string":
            return text_of(value)
        case "double":
            return _double(_message(value))
        case "bytes":
            return base64.b64encode(_message(value)).decode()
        case "time":
            return _time(_message(value), micro=False)
        case "micro-time":
            return _time(_message(value), micro=True)
        case "quantity":
            return text_of(dict(wire_fields(_message(value))).get(1, b"0"))
        case "int-or-string":
            parts = dict(wire_fields(_message(value)))
            return text_of(parts.get(3, b"")) if _signed(parts.get(1, 0)) else _truncated(_signed(parts.get(2, 0)))
        case "duration":
            return _duration(_signed(dict(wire_fields(_message(value))).get(1, 0)))
        case "raw":
            raw = _message(dict(wire_fields(_message(value))).get(1, b""))
            return decode_json(raw) if raw else None
        case "strings":
            return [text_of(item) for number, item in wire_fields(_message(value)) if number == 1]
        case _:
            return _schema_or(kind, _message(value), depth)


def _schema_or(kind: str, raw: bytes, depth: int) -> Any:
    """Return a ``JSONSchemaPropsOrBool``, ``…OrArray`` or ``…OrStringArray`` in its JSON form."""
    is_bool = kind == "schema-or-bool"
    schema_number = 2 if is_bool else 1
    schema: Tree | None = None
    allows = False
    items: list[Any] = []
    decoder = decoder_of(_SCHEMA_PROPS)
    for number, value in wire_fields(raw):
        if number == schema_number:
            schema = {} if schema is None else schema
            decoder.merge(schema, _message(value), depth + 1)
        elif is_bool and number == 1:
            allows = bool(_signed(value))
        elif number == 2:
            items.append(text_of(value) if kind == "schema-or-strings" else decoder.decode(_message(value), depth + 1))
    if is_bool:
        return allows if schema is None else schema
    # As upstream's MarshalJSON: the list, if set.
    return items or schema


def _double(raw: bytes) -> float:
    if len(raw) != 8:
        raise DecodeError("proto: wrong wireType for a double")
    number: float = struct.unpack("<d", raw)[0]
    if not math.isfinite(number):  # not representable in JSON
        raise DecodeError(f"json: unsupported value: {float_text(number)}")
    return number


def _time(raw: bytes, *, micro: bool) -> str | None:
    """Return the time; None for an empty message, Go's zero time."""
    parts = dict(wire_fields(raw))
    if not parts:
        return None
    seconds = _signed(parts.get(1, 0))
    return micro_time_text(seconds, _truncated(_signed(parts.get(2, 0)))) if micro else time_text(seconds)


def _duration(nanos: int) -> str:
    """Return a duration in Go's format: ``1h2m3.5s``."""
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    if nanos == 0:
        return "0s"
    for unit, scale in (("ns", 1), ("µs", 1000), ("ms", 1_000_000)):
        if nanos < scale * 1000:
            return f"{sign}{_decimal(nanos, scale)}{unit}"
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, 1_000_000_000)}s"


def _decimal(number: int, scale: int) -> str:
    whole, fraction = divmod(number, scale)
    digits = f"{fraction:0{len(str(scale)) - 1}d}".rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)


# -- values ------------------------------------------------------------------------------------------------------


def _packed(raw: bytes) -> Iterator[int]:
    at = 0
    while at < len(raw):
        value, at = read_varint(raw, at)
        yield value


def _signed(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise DecodeError("proto: wrong wireType for an integer")
    return value - (1 << 64) if value >= 1 << 63 else value


def _truncated(value: int) -> int:
    """Return the lowest 32 bits as Go's ``int32``."""
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise DecodeError("proto: wrong wireType for a message")
    return value


def text_of(value: int | bytes) -> str:
    """Return a string. Raises DecodeError for text that is not UTF-8."""
    try:
        return _message(value).decode()
    except UnicodeDecodeError:
        raise DecodeError("proto: a text is not valid UTF-8") from None
