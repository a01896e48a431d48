"""Path elements: keys of a FieldsV1 tree, each one step from a value to a part of it.

``f:name`` is a field of an object, ``k:{"port":80,"protocol":"TCP"}`` the item of a list map with these keys,
``v:"x"`` the item of a set, ``i:3`` a position in a list; ``.`` stands for the value itself. An element is always kept
in its canonical text (compact JSON, sorted keys), so that equal elements are equal strings.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from steersman.apimachinery.gotext import quote, to_json, to_value_text
from steersman.apimachinery.text_cache import text_cache

#: Element of a node that makes the node itself a member of the set.
SELF: Final = "."

#: Maximum digits of an int64.
_INDEX: Final = re.compile(r"[-+]?[0-9]{1,19}", re.ASCII)
#: Go writes larger floats with an exponent.
_WHOLE_MAX: Final = 1e21
_UNSAFE: Final = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029]').search


def field(name: str) -> str:
    """Return the element of a field or map key."""
    return f"f:{name}"


def value_text(value: Any) -> str:
    """Format a scalar as JSON with Go's escapes."""
    if value.__class__ is str:
        return to_json(value) if _UNSAFE(value) else f'"{value}"'
    if value.__class__ is int:
        return str(value)
    return to_json(value)


def set_item(value: Any) -> str:
    """Return the element of a set item."""
    return f"v:{value_text(value)}"


def list_item(keys: dict[str, Any]) -> str:
    """Return the element of an associative list item with these keys."""
    return f"k:{{{','.join(f'{value_text(name)}:{value_text(keys[name])}' for name in sorted(keys))}}}"


def canonical(element: str) -> str | None:
    """Return the canonical text of an element; None for an unknown type of element.

    Raises ValueError for text that is not an element.
    """
    if len(element) < 2:
        raise ValueError(f"key must be 2 characters long: {element}")
    sort, colon, text = element[0], element[1], element[2:]
    if colon != ":":
        raise ValueError(f"missing colon: {element}")
    if sort == "f":
        return element
    if sort == "i":
        if not _INDEX.fullmatch(text) or not -(2**63) <= (index := int(text)) < 2**63:
            raise ValueError(f"not an index: {text}")
        return f"i:{index}"
    if sort == "v":
        return set_item(_parse(text))
    if sort == "k":
        keys = _parse(text)
        if not isinstance(keys, dict):
            raise ValueError(f"not an object: {text}")
        return list_item(keys)
    return None


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_number, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _number(text: str) -> float | int:
    """Return a number in upstream's form: ``1.0`` is 1."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"number out of range: {text}")
    return int(value) if value.is_integer() and abs(value) < _WHOLE_MAX else value


def _reject_constant(text: str) -> float:
    """Reject ``NaN`` and ``Infinity``, which Python's decoder accepts."""
    raise ValueError(f"invalid character in {text}")


def element_text(element: str) -> str:
    """Format an element for messages: ``.name``, ``[port=80,protocol="TCP"]``, ``[="x"]``, ``[3]``."""
    sort, text = element[0], element[2:]
    if sort == "f":
        return f".{text}"
    if sort == "i":
        return f"[{text}]"
    value = json.loads(text)
    if sort == "v":
        return f"[={_shown(value)}]"
    return f"[{','.join(f'{name}={_shown(value[name])}' for name in sorted(value))}]"


def path_text(path: tuple[str, ...]) -> str:
    """Format a path for messages: ``.spec.containers[name="c"].image``."""
    return "".join(map(element_text, path))


def _shown(value: Any) -> str:
    return quote(value) if isinstance(value, str) else to_value_text(value)


@text_cache(4096, length_max=256)
def order(element: str) -> tuple[Any, ...]:
    """Return the sort key of upstream's order: fields, list items, set items, positions."""
    if element == SELF:
        return (-1,)
    sort, text = element[0], element[2:]
    if sort == "f":
        return (0, text)
    if sort == "i":
        return (3, int(text))
    value = json.loads(text)
    if sort == "v":
        return (2, _value_order(value))
    return (1, tuple((name, _value_order(value[name])) for name in sorted(value)))


def _value_order(value: Any) -> tuple[Any, ...]:
    """Return the sort key of a value: numbers, strings, booleans, others."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, to_json(value))
