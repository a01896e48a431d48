"""Resolution of YAML scalars: the rules of YAML 1.1 with the types of JSON."""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.gotext import float_text

#: Key ``<<``, whose value's keys are merged into the mapping.
MERGE: Final = object()

_WORDS: Final[dict[str, bool | float | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INT: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
TAG: Final = "tag:yaml.org,2002:"
#: Timestamp or base-60 number, which readers may recognise.
_SPECIAL: Final = re.compile(
    r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?[ \t]*(Z|[-+][0-9:]+)?)?"
)


def resolve(text: str, *, tag: str | None, plain: bool) -> Any:
    """Return the value of a scalar, ``MERGE`` for a merge key. ``plain`` is False for quoted ones."""
    if tag is None or tag == "!":
        return _plain(text) if plain and tag is None else text
    if not tag.startswith(TAG):
        return text
    kind = tag[len(TAG) :]
    if kind == "str":
        return text
    if kind == "binary":
        return _binary(text)
    value = _plain(text)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if _kind(value) != kind and kind in ("int", "float", "bool", "null"):
        raise DecodeError(f"yaml: cannot decode !!{_kind(value)} `{text}` as a !!{kind}")
    return value if kind in ("int", "float", "bool", "null", "merge") else text


def _kind(value: Any) -> str:
    """Return the short tag of a resolved scalar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return "int" if isinstance(value, int) else "float" if isinstance(value, float) else "str"


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    except binascii.Error:
        raise DecodeError("yaml: !!binary value contains invalid base64 data") from None


def _plain(text: str) -> Any:
    """Resolve a plain scalar."""
    if text in _WORDS:
        value = _WORDS[text]
        if isinstance(value, float):
            raise DecodeError(f"json: unsupported value: {float_text(value)}")
        return value
    if text[0] in _NUMBER_STARTS:
        return _number_or_text(text)
    return MERGE if text == "<<" else text


def _number_or_text(text: str) -> Any:
    bare = text.replace("_", "") if "_" in text else text
    match = _INT.fullmatch(bare)
    if match and len(bare) <= 300:
        sign, *digits = match.groups()
        value = next(
            int(digit_text, base) for digit_text, base in zip(digits, (16, 2, 8, 10), strict=True) if digit_text
        )
        value = -value if sign == "-" else value
        if -(2**63) <= value < 2**64:
            return value
    if not _FLOAT.fullmatch(bare):
        return text
    return whole_if_whole(float(bare))


def whole_if_whole(value: float) -> Any:
    """Convert a float without a fraction to an integer, as on the way to JSON."""
    if math.isinf(value):
        raise DecodeError(f"json: unsupported value: {float_text(value)}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if isinstance(key, float):
        return float_text(key)
    kind = "null" if key is None else "map" if isinstance(key, dict) else "list"
    raise DecodeError(f"unsupported map key of type: {kind}")


def needs_quotes(text: str) -> bool:
    """Report whether a plain scalar of this text would be resolved to another value."""
    if text in _WORDS or text == "<<":
        return True
    if text[0] not in _NUMBER_STARTS:
        return False
    bare = text.replace("_", "")
    return bool(_INT.fullmatch(bare) or _FLOAT.fullmatch(bare) or _SPECIAL.fullmatch(text))
