"""CBOR (RFC 8949): encoding trees, and decoding data items to trees, by the rules of Kubernetes.

Strings are written as byte strings, floats in the shortest form that keeps the value, keys in the order of their encodings,
and each object inside the tag "self-described CBOR". Both kinds of strings are read as text, unless a tag says how bytes
become text (base64). Duplicate keys, simple values other than false, true and null, NaN, infinities, big numbers, integers
beyond 64 bits, and keys that are not strings are errors. Unknown tags are ignored.

Work and memory are linear in the number of bytes; nothing is allocated by the lengths that an item announces.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/cbor, and the decoder that it configures there
(github.com/fxamacker/cbor).
"""

from __future__ import annotations

import math
from base64 import b64encode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from struct import Struct
from sys import float_info
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import MAX_DEPTH, DecodeError
from steersman.apimachinery.envelope import json_type
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.text_cache import text_cache
from steersman.apimachinery.timestamps import parse_time
from steersman.apimachinery.workmeter import spend

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Head of tag 55799, with which all objects begin. JSON, YAML and protobuf never begin so.
SELF_DESCRIBED: Final = b"\xd9\xd9\xf7"

#: Limits of decoding.
NESTED_LEVELS_MAX: Final = 64
ELEMENTS_MAX: Final = 1024
#: Limit of elements in items that were validated before.
_ANY_ELEMENTS: Final = 2**31 - 1

# Major types.
_UNSIGNED: Final = 0
_NEGATIVE: Final = 1
_BYTES: Final = 2
_TEXT: Final = 3
_ARRAY: Final = 4
_MAP: Final = 5
_TAG: Final = 6
_SIMPLE: Final = 7
_TYPE_NAMES: Final = (
    "positive integer", "negative integer", "byte string", "UTF-8 text string", "array", "map", "tag", "primitives",
)  # fmt: skip

# Additional information: values up to 23 stand for themselves, the next four announce 1, 2, 4 and 8 bytes.
_INLINE_MAX: Final = 23
_EIGHT_BYTES: Final = 27
_INDEFINITE: Final = 31
_BREAK: Final = 0xFF

_FALSE: Final = 20
_TRUE: Final = 21
_NULL: Final = 22
_FLOAT16: Final = 25
#: Simple values in a byte of their own begin here.
_SIMPLE_MIN: Final = 32

_TIME_TEXT: Final = 0
_TIME_NUMBER: Final = 1
_BIG_NUMBERS: Final = (2, 3)
_BASE64URL: Final = 21
_BASE64: Final = 22
_BASE16: Final = 23
#: Tags of bytes that are to become text.
_LATER_ENCODINGS: Final = (_BASE64URL, _BASE64, _BASE16)

_INT64_MAX: Final = 2**63 - 1
_HALF: Final = Struct(">e")
_SINGLE: Final = Struct(">f")
_DOUBLE: Final = Struct(">d")
_FLOATS: Final = (_HALF, _SINGLE, _DOUBLE)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: Items between two calls of ``spend``, and the units of one item.
_METER_INTERVAL: Final = 256
_UNITS_PER_ITEM: Final = 6
#: Encoded keys that are cached, and their length.
_KEYS_MAX: Final = 2048
_KEY_LENGTH_MAX: Final = 64


def encode_object(tree: Any) -> bytes:
    """Encode a tree inside the tag of self-described CBOR."""
    return SELF_DESCRIBED + encode(tree)


def encode(tree: Any) -> bytes:
    """Encode a tree. Raises ``ValueError`` for NaN and infinities, which JSON cannot hold."""
    encoder = _Encoder()
    encoder.write(tree)
    return b"".join(encoder.pieces)


def encode_map(pairs: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a map of fewer than 24 keys with values that are encoded already. The keys are in the order of their encodings."""
    pieces = [piece for key, value in pairs for piece in (_head(_BYTES, len(key)), key.encode(), value)]
    return bytes((_MAP << 5 | len(pieces) // 3,)) + b"".join(pieces)


class _Encoder:
    __slots__ = ("_left", "pieces")

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._left = _METER_INTERVAL

    def write(self, value: Any) -> None:
        self._left -= 1
        if not self._left:
            self._left = _METER_INTERVAL
            spend(_METER_INTERVAL * _UNITS_PER_ITEM)
        pieces = self.pieces
        if isinstance(value, str):
            raw = value.encode("utf-8", "replace")
            pieces.append(_head(_BYTES, len(raw)))
            pieces.append(raw)
        elif isinstance(value, dict):
            pieces.append(_head(_MAP, len(value)))
            for raw, below in sorted([(_key(key), below) for key, below in value.items()], key=_by_key):
                pieces.append(raw)
                self.write(below)
        elif isinstance(value, list):
            pieces.append(_head(_ARRAY, len(value)))
            for below in value:
                self.write(below)
        elif value is None:
            pieces.append(b"\xf6")
        elif isinstance(value, bool):
            pieces.append(b"\xf5" if value else b"\xf4")
        elif isinstance(value, int):
            pieces.append(_integer(value))
        else:
            pieces.append(_float(value))


def _by_key(pair: tuple[bytes, Any]) -> bytes:
    return pair[0]


@text_cache(_KEYS_MAX, length_max=_KEY_LENGTH_MAX)
def _key(text: str) -> bytes:
    raw = text.encode("utf-8", "replace")
    return _head(_BYTES, len(raw)) + raw


def _head(major: int, argument: int) -> bytes:
    """Return the first bytes of an item, in their shortest form."""
    first = major << 5
    if argument <= _INLINE_MAX:
        return bytes((first | argument,))
    if argument <= 0xFF:
        return bytes((first | 24, argument))
    if argument <= 0xFFFF:
        return bytes((first | 25, argument >> 8, argument & 0xFF))
    if argument <= 0xFFFFFFFF:
        return bytes((first | 26,)) + argument.to_bytes(4, "big")
    return bytes((first | _EIGHT_BYTES,)) + argument.to_bytes(8, "big")


def _integer(value: int) -> bytes:
    """Encode an integer; one beyond 64 bits as the nearest float, which Go makes of it when it reads JSON."""
    if -1 - _INT64_MAX <= value <= _INT64_MAX:
        return _head(_UNSIGNED, value) if value >= 0 else _head(_NEGATIVE, -1 - value)
    try:
        return _float(float(value))
    except OverflowError:
        return _float(float_info.max if value > 0 else -float_info.max)


def _float(value: float) -> bytes:
    if not math.isfinite(value):
        raise ValueError(f"cbor: unsupported value: {value}")
    for form, head in ((_HALF, b"\xf9"), (_SINGLE, b"\xfa")):
        try:
            raw = form.pack(value)
        except OverflowError:
            continue
        if form.unpack(raw)[0] == value:
            return head + raw
    return b"\xfb" + _DOUBLE.pack(value)


def decode(raw: bytes) -> Any:
    """Return the tree of one data item. Raises ``DecodeError`` with upstream's text."""
    return _decode(raw, NESTED_LEVELS_MAX, ELEMENTS_MAX)


def decode_stored(raw: bytes) -> Any:
    """Decode an item that an API server wrote, of any size, and as deep as JSON. Raises ``DecodeError``."""
    return _decode(raw, MAX_DEPTH, _ANY_ELEMENTS)


def _decode(raw: bytes, levels_max: int, elements_max: int) -> Any:
    if not raw:
        raise DecodeError("EOF")
    decoder = _Decoder(raw, levels_max, elements_max)
    tree = decoder.item(0, 0)
    rest = len(raw) - decoder.position
    if rest:
        raise DecodeError(f"cbor: {rest} bytes of extraneous data starting at index {decoder.position}")
    return tree


def decode_map(raw: bytes, go_type: str) -> dict[str, Any] | None:
    """Return a map; None for null. Raises ``DecodeError`` as ``decode``, and for other items, which ``go_type`` cannot hold."""
    tree = decode(raw)
    if tree is None or isinstance(tree, dict):
        return tree
    raise DecodeError(f"cbor: cannot unmarshal {json_type(tree)} into Go value of type {go_type}")


def decode_object(raw: bytes) -> dict[str, Any] | None:
    """Return the object of a body; None for null. Raises ``DecodeError``."""
    try:
        return decode_map(raw, "v1.TypeMeta")
    except DecodeError as error:
        raise DecodeError(f"unable to determine group/version/kind: {error}") from None


class _Decoder:
    """Reads data items. ``levels_max`` bounds the recursion."""

    __slots__ = ("_elements_max", "_end", "_left", "_levels_max", "_raw", "position")

    def __init__(self, raw: bytes, levels_max: int, elements_max: int) -> None:
        self._levels_max: Final = levels_max
        self._elements_max: Final = elements_max
        self._raw: Final = raw
        self._end: Final = len(raw)
        self._left = _METER_INTERVAL
        self.position = 0

    def item(self, depth: int, later: int) -> Any:
        """Return the item at the position. ``later``: the tag that says how bytes become text; 0 for none."""
        self._left -= 1
        if not self._left:
            self._left = _METER_INTERVAL
            spend(_METER_INTERVAL * _UNITS_PER_ITEM)
        start = self._first_byte()
        major, info = start >> 5, start & 0x1F
        if major in (_BYTES, _TEXT):
            return self._string(major, info, later)
        if major == _MAP:
            return self._map(info, depth + 1, later)
        if major == _ARRAY:
            return self._array(info, depth + 1, later)
        if major == _TAG:
            return self._tagged(info, depth, later)
        if major == _SIMPLE:
            return self._simple(info)
        argument = self._argument(major, info)
        if major == _NEGATIVE:
            argument = -1 - argument
        if not -1 - _INT64_MAX <= argument <= _INT64_MAX:
            raise DecodeError(
                f"cbor: cannot unmarshal {_TYPE_NAMES[major]} into Go value of type int64 ({argument} overflows Go's int64)"
            )
        return argument

    def _too_deep(self) -> DecodeError:
        return DecodeError(f"cbor: exceeded max nested level {self._levels_max}")

    def _first_byte(self) -> int:
        position = self.position
        if position >= self._end:
            raise DecodeError("unexpected EOF")
        self.position = position + 1
        return self._raw[position]

    def _take(self, size: int) -> bytes:
        start = self.position
        if size > self._end - start:
            raise DecodeError("unexpected EOF")
        self.position = start + size
        return self._raw[start : start + size]

    def _argument(self, major: int, info: int) -> int:
        """Return the number in the head of an item."""
        if info <= _INLINE_MAX:
            return info
        if info > _EIGHT_BYTES:
            raise DecodeError(f"cbor: invalid additional information {info} for type {_TYPE_NAMES[major]}")
        return int.from_bytes(self._take(1 << (info - 24)), "big")

    def _ends_here(self) -> bool:
        """Read the end of an item of indefinite length, if it is at the position."""
        if self.position >= self._end:
            raise DecodeError("unexpected EOF")
        if self._raw[self.position] != _BREAK:
            return False
        self.position += 1
        return True

    def _string(self, major: int, info: int, later: int) -> str:
        raw = self._take(self._argument(major, info)) if info != _INDEFINITE else self._chunks(major)
        if later and major == _BYTES:
            return _later_text(raw, later)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise DecodeError("cbor: invalid UTF-8 string") from None

    def _chunks(self, major: int) -> bytes:
        """Return a string of indefinite length: definite strings of the same type."""
        chunks: list[bytes] = []
        while not self._ends_here():
            start = self._first_byte()
            name = _TYPE_NAMES[major]
            if start >> 5 != major:
                other = _TYPE_NAMES[start >> 5]
                raise DecodeError(f"cbor: wrong element type {other} for indefinite-length {name}")
            if start & 0x1F == _INDEFINITE:
                raise DecodeError(f"cbor: indefinite-length {name} chunk is not definite-length")
            chunks.append(self._take(self._argument(major, start & 0x1F)))
        return b"".join(chunks)

    def _array(self, info: int, depth: int, later: int) -> list[Any]:
        if depth > self._levels_max:
            raise self._too_deep()
        size = -1 if info == _INDEFINITE else self._argument(_ARRAY, info)
        items: list[Any] = []
        while len(items) != size and not (size < 0 and self._ends_here()):
            if max(size, len(items) + 1) > self._elements_max:
                raise DecodeError(f"cbor: exceeded max number of elements {self._elements_max} for CBOR array")
            items.append(self.item(depth, later))
        return items

    def _map(self, info: int, depth: int, later: int) -> dict[str, Any]:
        if depth > self._levels_max:
            raise self._too_deep()
        size = -1 if info == _INDEFINITE else self._argument(_MAP, info)
        tree: dict[str, Any] = {}
        while len(tree) != size and not (size < 0 and self._ends_here()):
            if max(size, len(tree) + 1) > self._elements_max:
                raise DecodeError(f"cbor: exceeded max number of key-value pairs {self._elements_max} for CBOR map")
            major = self._raw[self.position] >> 5 if self.position < self._end else _BYTES
            if major not in (_BYTES, _TEXT, _TAG):
                raise DecodeError(f"cbor: cannot unmarshal {_TYPE_NAMES[major]} into Go value of type string")
            key = self.item(depth, later)
            if not isinstance(key, str):
                raise DecodeError("cbor: cannot unmarshal tag into Go value of type string")
            if key in tree:
                raise DecodeError(f'cbor: found duplicate map key "{key}" at map element index {len(tree)}')
            tree[key] = self.item(depth, later)
        return tree

    def _tagged(self, info: int, depth: int, later: int) -> Any:
        """Return the content of a tag, or of the last of several tags around each other."""
        number = self._argument(_TAG, info)
        while True:
            if self.position >= self._end:
                raise DecodeError("unexpected EOF")
            first = self._raw[self.position]
            major = first >> 5
            if number in _BIG_NUMBERS:
                raise _unacceptable(_TAG, "bignum")
            if number in _LATER_ENCODINGS:
                later = number
            elif number == _TIME_TEXT:
                return self._time_text(major, depth)
            elif number == _TIME_NUMBER:
                return self._time_number(major, first & 0x1F, depth)
            if major != _TAG:
                return self.item(depth, later)
            depth += 1
            if depth > self._levels_max:
                raise self._too_deep()
            self.position += 1
            number = self._argument(_TAG, first & 0x1F)

    def _time_text(self, major: int, depth: int) -> str:
        """Return the content of tag 0, a time of RFC 3339, in UTC or with its offset, as it was written."""
        if major != _TEXT:
            raise DecodeError(f"cbor: tag number 0 must be followed by text string, got {_TYPE_NAMES[major]}")
        text: str = self.item(depth, 0)
        try:
            parse_time(text)
        except ValueError:
            raise DecodeError(f"cbor: cannot set {quote(text)} for time.Time") from None
        return text

    def _time_number(self, major: int, info: int, depth: int) -> str:
        """Return the content of tag 1, seconds since 1970, as a time of RFC 3339."""
        if major not in (_UNSIGNED, _NEGATIVE) and not (major == _SIMPLE and _FLOAT16 <= info <= _EIGHT_BYTES):
            raise DecodeError(
                f"cbor: tag number 1 must be followed by integer or floating-point number, got {_TYPE_NAMES[major]}"
            )
        seconds: int | float = self.item(depth, 0)
        try:
            moment = _EPOCH + timedelta(seconds=seconds)
        except OverflowError:
            raise DecodeError(f"cbor: cannot set {seconds} for time.Time") from None
        text = moment.replace(tzinfo=None).isoformat()
        return (text.rstrip("0") if "." in text else text) + "Z"

    def _simple(self, info: int) -> bool | float | None:
        if info == _FALSE:
            return False
        if info == _TRUE:
            return True
        if info == _NULL:
            return None
        if _FLOAT16 <= info <= _EIGHT_BYTES:
            form = _FLOATS[info - _FLOAT16]
            number: float = form.unpack(self._take(form.size))[0]
            if not math.isfinite(number):
                raise _unacceptable(_SIMPLE, f"floating-point {'NaN' if math.isnan(number) else 'infinity'}")
            return number
        if info == _INDEFINITE:
            raise DecodeError('cbor: unexpected "break" code')
        value = self._argument(_SIMPLE, info)
        if info > _INLINE_MAX and value < _SIMPLE_MIN:
            raise DecodeError(f"cbor: invalid simple value {value} for type {_TYPE_NAMES[_SIMPLE]}")
        raise _unacceptable(_SIMPLE, f"simple value {value} is not recognized")


def _later_text(raw: bytes, tag: int) -> str:
    """Return bytes in the encoding that a tag expects."""
    if tag == _BASE64:
        return b64encode(raw).decode()
    return raw.hex().upper() if tag == _BASE16 else urlsafe_b64encode(raw).decode().rstrip("=")


def _unacceptable(major: int, reason: str) -> DecodeError:
    return DecodeError(f"cbor: data item of cbor type {_TYPE_NAMES[major]} is not accepted by protocol: {reason}")
