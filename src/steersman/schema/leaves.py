"""Leaves of objects as Go decodes and encodes them: one function per kind.

Each takes a JSON value (never null) and returns its canonical form. They raise `Mismatch` for a wrong JSON type, and
`Malformed` with Go's text for a value that its own parser rejects. The second argument is that of all decoders in
`steersman.schema.decoding`, of which leaves are one kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.quantity import read_back
from steersman.apimachinery.typemodel import ScalarKind
from steersman.schema.gobase64 import normalize as normalize_base64
from steersman.schema.gotime import normalize_micros, normalize_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1


class Mismatch(Exception):  # noqa: N818 — a signal between the decoders, worded by `diagnosis`
    """The JSON type of a value does not fit."""


class Malformed(Mismatch):
    """A value's own parser rejects it; the message is Go's."""


def _string(value: Any, _: object = None) -> str:
    if type(value) is str:
        return value
    raise Mismatch


def _boolean(value: Any, _: object = None) -> bool:
    if type(value) is bool:
        return value
    raise Mismatch


def _int32(value: Any, _: object = None) -> int:
    if type(value) is int and -_INT32_MAX <= value + 1 <= _INT32_MAX + 1:
        return value
    raise Mismatch


def _int64(value: Any, _: object = None) -> int:
    if type(value) is int and -_INT64_MAX <= value + 1 <= _INT64_MAX + 1:
        return value
    raise Mismatch


def _number(value: Any, _: object = None) -> float | int:
    """Return a whole float64 without a fraction, as Go writes it."""
    if type(value) is int:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e21 else float(value)
    raise Mismatch


def _bytes(value: Any, _: object = None) -> str:
    if type(value) is list:
        return _bytes_of_numbers(value)
    try:
        return normalize_base64(_string(value))
    except ValueError as error:
        raise Malformed(str(error)) from None


def _bytes_of_numbers(value: list[Any]) -> str:
    """Decode a list of small numbers as bytes, which Go accepts."""
    import base64  # noqa: PLC0415 — hardly ever needed

    if any(type(number) is not int or not 0 <= number <= 255 for number in value):
        raise Mismatch
    return base64.b64encode(bytes(value)).decode()


def _time(value: Any, _: object = None) -> str | None:
    try:
        return normalize_seconds(_string(value))
    except ValueError as error:
        raise Malformed(str(error)) from None


def _micro_time(value: Any, _: object = None) -> str | None:
    try:
        return normalize_micros(_string(value))
    except ValueError as error:
        raise Malformed(str(error)) from None


def _quantity(value: Any, _: object = None) -> str:
    # Go parses any JSON text here; the number's exact text is known only if the tree kept it.
    text = value if type(value) is str else getattr(value, "text", None) or repr(value)
    try:
        return read_back(text)
    except ValueError as error:
        raise Malformed(str(error)) from None


def _int_or_string(value: Any, _: object = None) -> int | str:
    return value if type(value) is str else _int32(value)


def _any(value: Any, _: object = None) -> Any:
    return value


#: Python types whose values need no conversion.
PLAIN: Final[dict[ScalarKind, type]] = {ScalarKind.STRING: str, ScalarKind.BOOLEAN: bool, ScalarKind.DURATION: str}

#: Go's encoding of the zero value of a leaf held by value.
ZEROS: Final[dict[ScalarKind, Any]] = {
    ScalarKind.STRING: "",
    ScalarKind.INT32: 0,
    ScalarKind.INT64: 0,
    ScalarKind.NUMBER: 0,
    ScalarKind.BOOLEAN: False,
    ScalarKind.BYTES: None,
    ScalarKind.TIME: None,
    ScalarKind.MICRO_TIME: None,
    ScalarKind.DURATION: "0s",
    ScalarKind.QUANTITY: "0",
    ScalarKind.INT_OR_STRING: 0,
    ScalarKind.ANY: None,
    ScalarKind.RAW: None,
    ScalarKind.SCHEMA_OR_BOOL: False,
    ScalarKind.SCHEMA_OR_ARRAY: None,
    ScalarKind.SCHEMA_OR_STRINGS: None,
}

LEAVES: Final[dict[ScalarKind, Callable[..., Any]]] = {
    ScalarKind.STRING: _string,
    ScalarKind.INT32: _int32,
    ScalarKind.INT64: _int64,
    ScalarKind.NUMBER: _number,
    ScalarKind.BOOLEAN: _boolean,
    ScalarKind.BYTES: _bytes,
    ScalarKind.TIME: _time,
    ScalarKind.MICRO_TIME: _micro_time,
    ScalarKind.DURATION: _string,
    ScalarKind.QUANTITY: _quantity,
    ScalarKind.INT_OR_STRING: _int_or_string,
    ScalarKind.ANY: _any,
    ScalarKind.RAW: _any,
}
