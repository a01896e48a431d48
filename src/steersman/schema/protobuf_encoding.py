"""Encoding of object trees as protobuf messages, byte for byte as by upstream's generated encoders.

Fields are in the order of their numbers, map entries sorted by key, and fields that are not pointers in Go are written
even if empty. Each message gets a template of its empty fields on first use; encoding an object replaces the fields
that its tree has.
"""

from __future__ import annotations

import binascii
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import encode as encode_json
from steersman.apimachinery.protowire import varint
from steersman.apimachinery.text_cache import text_cache
from steersman.apimachinery.workmeter import charged
from steersman.schema.protobuf_messages import fields_of
from steersman.schema.prototime import timestamp

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.schema.protobuf_messages import MessageField

_SCHEMA_PROPS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_UNITS_PER_ITEM: Final = 2
_VARINT, _FIXED64, _BYTES = 0, 1, 2
#: Encoded lengths of short values.
_SIZES: Final = [varint(size) for size in range(1 << 14)]
_SIZES_MAX: Final = len(_SIZES)


def length(size: int) -> bytes:
    """Return the encoded length of a value."""
    return _SIZES[size] if size < _SIZES_MAX else varint(size)


class MessageEncoder:
    """Encodes trees of one type. Keys that the message does not know are ignored."""

    __slots__ = ("_inlined", "_positions", "_template", "definition")

    def __init__(self, definition: str) -> None:
        self.definition: Final = definition
        self._positions: dict[str, tuple[int, FieldEncoder]] | None = None
        self._inlined: list[tuple[int, bytes, MessageEncoder]] = []
        #: The bytes of each field of an empty object.
        self._template: list[bytes] = []

    def encode(self, tree: Tree) -> bytes:
        """Return the message without its length."""
        positions = self._positions
        if positions is None:
            positions = self._prepare()
        pieces = self._template[:]
        for name, value in tree.items():
            position = positions.get(name)
            if position is not None and value is not None:
                pieces[position[0]] = position[1].encode(value)
        for index, tag, message in self._inlined:
            raw = message.encode(tree)
            pieces[index] = tag + length(len(raw)) + raw
        return b"".join(pieces)

    def _prepare(self) -> dict[str, tuple[int, FieldEncoder]]:
        positions: dict[str, tuple[int, FieldEncoder]] = {}
        inlined: list[tuple[int, bytes, MessageEncoder]] = []
        template: list[bytes] = []
        for index, field in enumerate(fields_of(self.definition)):
            encoder = _field_encoder(field)
            template.append(encoder.empty() if field.written_always else b"")
            if field.json_name:
                positions[field.json_name] = (index, encoder)
            else:
                inlined.append((index, encoder.tag, encoder_of(field.message)))
        self._template = template
        self._inlined = inlined
        self._positions = positions
        return positions


@cache
def encoder_of(definition: str) -> MessageEncoder:
    """Return the encoder of a type, ``io.k8s.api.core.v1.Pod``. Raises KeyError for a type without a message."""
    fields_of(definition)
    return MessageEncoder(definition)


class FieldEncoder:
    """Encodes the values of one field, each with the field's tag."""

    def __init__(self, tag: bytes) -> None:
        self.tag: Final = tag

    def encode(self, value: Any) -> bytes:
        """Return a value that is not null."""
        raise NotImplementedError

    def empty(self) -> bytes:
        """Return the empty value."""
        return self.tag + b"\x00"


class _StringEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        text: str = value
        raw = text.encode("utf-8")
        return self.tag + length(len(raw)) + raw


class _BytesEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        raw = binascii.a2b_base64(value)
        return self.tag + length(len(raw)) + raw


class _IntegerEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        number: int = value
        return self.tag + (_SIZES[number] if 0 <= number < _SIZES_MAX else varint(number))


class _BoolEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        return self.tag + (b"\x01" if value else b"\x00")


class _DoubleEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        return self.tag + struct.pack("<d", value)

    def empty(self) -> bytes:
        return self.encode(0.0)


class _MessageFieldEncoder(FieldEncoder):
    def __init__(self, tag: bytes, message: MessageEncoder) -> None:
        super().__init__(tag)
        self._message: Final = message

    def encode(self, value: Any) -> bytes:
        raw = self._message.encode(value)
        return self.tag + length(len(raw)) + raw

    def empty(self) -> bytes:
        return self.encode({})


class _TimeEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        return self.tag + _timestamp_message(value)


@text_cache(8192, length_max=40)
def _timestamp_message(text: str) -> bytes:
    seconds, nanos = timestamp(text)
    raw = b"\x08" + varint(seconds) + b"\x10" + varint(nanos)
    return length(len(raw)) + raw


class _DurationEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        raw = b"\x08" + varint(_nanoseconds(value))
        return self.tag + length(len(raw)) + raw

    def empty(self) -> bytes:
        return self.encode("0s")


class _QuantityEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        text: str = value
        raw = text.encode("utf-8")
        size = length(len(raw))
        return self.tag + length(1 + len(size) + len(raw)) + b"\x0a" + size + raw

    def empty(self) -> bytes:
        return self.encode("0")


class _IntOrStringEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        if isinstance(value, str):
            raw = value.encode("utf-8")
            raw = b"\x08\x01\x10\x00\x1a" + length(len(raw)) + raw
        else:
            raw = b"\x08\x00\x10" + varint(value) + b"\x1a\x00"
        return self.tag + length(len(raw)) + raw

    def empty(self) -> bytes:
        return self.encode(0)


class _RawEncoder(FieldEncoder):
    """``RawExtension``, ``FieldsV1`` and ``JSON``: JSON text in a message."""

    def encode(self, value: Any) -> bytes:
        raw = encode_json(value)
        size = length(len(raw))
        return self.tag + length(1 + len(size) + len(raw)) + b"\x0a" + size + raw


class _StringsEncoder(FieldEncoder):
    """A named slice of strings (``ExtraValue``), a message of its own."""

    def encode(self, value: Any) -> bytes:
        raw = _repeated_strings(b"\x0a", value)
        return self.tag + length(len(raw)) + raw


class _SchemaOrBoolEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        raw = b"\x08\x00" if value is False else b"\x08\x01"
        if isinstance(value, dict):
            raw += _schema(b"\x12", value)
        return self.tag + length(len(raw)) + raw

    def empty(self) -> bytes:
        return self.encode(False)


class _SchemaOrArrayEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        if isinstance(value, dict):
            raw = _schema(b"\x0a", value)
        else:
            raw = b"".join([_schema(b"\x12", schema or {}) for schema in value])
        return self.tag + length(len(raw)) + raw


class _SchemaOrStringsEncoder(FieldEncoder):
    def encode(self, value: Any) -> bytes:
        raw = _schema(b"\x0a", value) if isinstance(value, dict) else _repeated_strings(b"\x12", value)
        return self.tag + length(len(raw)) + raw


class _ListEncoder(FieldEncoder):
    def __init__(self, tag: bytes, item: FieldEncoder) -> None:
        super().__init__(tag)
        self._item: Final = item

    def encode(self, value: Any) -> bytes:
        item = self._item
        return b"".join(
            [item.empty() if element is None else item.encode(element) for element in charged(value, _UNITS_PER_ITEM)]
        )

    def empty(self) -> bytes:
        return b""


class _MapEncoder(FieldEncoder):
    def __init__(self, tag: bytes, value: FieldEncoder) -> None:
        super().__init__(tag)
        self._value: Final = value

    def encode(self, value: Any) -> bytes:
        pieces: list[bytes] = []
        items: dict[str, Any] = value
        # Go sorts keys by their bytes, which is the order of code points.
        for key in charged(sorted(items), _UNITS_PER_ITEM):
            element = items[key]
            raw_key = key.encode("utf-8")
            raw = self._value.empty() if element is None else self._value.encode(element)
            size = length(len(raw_key))
            pieces.append(self.tag + length(1 + len(size) + len(raw_key) + len(raw)) + b"\x0a" + size + raw_key + raw)
        return b"".join(pieces)

    def empty(self) -> bytes:
        return b""


def _repeated_strings(tag: bytes, texts: list[Any]) -> bytes:
    encoder = _StringEncoder(tag)
    return b"".join([encoder.encode(text or "") for text in charged(texts, _UNITS_PER_ITEM)])


def _schema(tag: bytes, tree: Tree) -> bytes:
    raw = encoder_of(_SCHEMA_PROPS).encode(tree)
    return tag + length(len(raw)) + raw


_UNITS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1000,
    "µs": 1000,
    "ns": 1,
}


def _nanoseconds(text: str) -> int:
    """Return a Go duration (``1h2m3.5s``) in nanoseconds."""
    sign = -1 if text.startswith("-") else 1
    total = 0
    number = unit = ""
    for char in f"{text.lstrip('+-')}0":
        if (char.isdecimal() or char == ".") and unit:
            whole, _, fraction = number.partition(".")
            scale = _UNITS[unit]
            total += int(whole or "0") * scale + int(fraction.ljust(9, "0")[:9]) * scale // 1_000_000_000
            number = unit = ""
        if char.isdecimal() or char == ".":
            number += char
        else:
            unit += char
    return sign * total


_ENCODERS: Final[dict[str, type[FieldEncoder]]] = {
    "bool": _BoolEncoder,
    "bytes": _BytesEncoder,
    "double": _DoubleEncoder,
    "duration": _DurationEncoder,
    "int-or-string": _IntOrStringEncoder,
    "int32": _IntegerEncoder,
    "int64": _IntegerEncoder,
    "micro-time": _TimeEncoder,
    "quantity": _QuantityEncoder,
    "raw": _RawEncoder,
    "schema-or-array": _SchemaOrArrayEncoder,
    "schema-or-bool": _SchemaOrBoolEncoder,
    "schema-or-strings": _SchemaOrStringsEncoder,
    "string": _StringEncoder,
    "strings": _StringsEncoder,
    "time": _TimeEncoder,
}
_WIRE_TYPES: Final = {"bool": _VARINT, "int32": _VARINT, "int64": _VARINT, "double": _FIXED64}


def _field_encoder(field: MessageField) -> FieldEncoder:
    tag = varint(field.number << 3 | _WIRE_TYPES.get(field.type, _BYTES))
    if field.is_map:
        entry_tag = varint(field.number << 3 | _BYTES)
        return _MapEncoder(entry_tag, _value_encoder(field, varint(2 << 3 | _WIRE_TYPES.get(field.type, _BYTES))))
    encoder = _value_encoder(field, tag)
    return _ListEncoder(tag, encoder) if field.is_list else encoder


def _value_encoder(field: MessageField, tag: bytes) -> FieldEncoder:
    if field.message:
        return _MessageFieldEncoder(tag, encoder_of(field.message))
    return _ENCODERS[field.type](tag)
