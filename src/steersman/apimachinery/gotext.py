"""Go's text formats of values that occur in upstream's messages (``%q``, ``%v``, ``%#v``, ``json.Marshal``)."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Escape sequences of Go and CEL strings.
ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}


def quote(text: str) -> str:
    """Format as ``%q``: double quotes, control and unprintable characters escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escape, text))}"'


def _escape(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:  # an invalid UTF-8 byte, kept by ``surrogateescape``
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def to_json(value: Any, *, sort_keys: bool = False) -> str:
    """Format as ``json.Marshal``: compact JSON with ``<``, ``>`` and ``&`` escaped.

    Keys keep the tree's order, as those of structs; a map's are sorted.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str, sort_keys=sort_keys)
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def to_value_text(value: Any) -> str:
    """Format a decoded tree as ``%v``: ``map[a:1 b:[x y]]`` with sorted keys, ``<nil>`` for null."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{to_value_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(to_value_text, value))}]"
    return str(value)


def to_go_syntax(value: Any) -> str:
    """Format a decoded tree as ``%#v``: ``map[string]interface {}{"a":1}`` with sorted keys."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return f"map[string]interface {{}}{{{', '.join(f'{quote(key)}:{to_go_syntax(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, (list, tuple)):
        return f"[]interface {{}}{{{', '.join(map(to_go_syntax, value))}}}"
    return to_value_text(value)


def label_selector_text(selector: Mapping[str, Any] | None) -> str:
    """Format a LabelSelector as its ``String`` method: ``&LabelSelector{MatchLabels:map[string]string{a: b,},…``."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{expression['key']},Operator:{expression['operator']},"
        f"Values:[{' '.join(expression.get('values') or ())}],}},"
        for expression in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def errno_text(error: OSError) -> str:
    """Return the reason of an error of the operating system, e.g. ``no such file or directory``. Upstream: ``syscall.Errno``."""
    return (error.strerror or str(error)).lower()


def float_text(value: float) -> str:
    """Format a float as ``%v``: shortest text, with an exponent below 1e-4 and from 1e21 on, without a trailing ``.0``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e21:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    return repr(value)


def general_float_text(value: float) -> str:
    """Format a float as ``fmt.Print`` does: the shortest digits, with an exponent below 1e-4 and from 1e6 on."""
    if not math.isfinite(value):
        return float_text(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    assert isinstance(exponent, int)
    magnitude = len(digits) + exponent - 1
    if value and not -4 <= magnitude < 6:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{'-' * sign}{text[0]}{fraction}e{magnitude:+03d}"
    return float_text(value)
