"""Pod templates as Go's debug printer formats them, the input of ``pod-template-hash``.

kube-controller-manager prints the template with ``spew`` (``%#v``, keys sorted, no addresses): each field in the order
of its declaration, with its type, and each nil pointer, map and slice as ``<nil>``. The name of a ReplicaSet is the
same as upstream's only if the text is. ``go_layout`` has the declarations of the types.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.quantity import parse
from steersman.workloads.go_layout import LAYOUT, MAPS_OF_QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Mapping

_ZERO_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
_NIL: Final = "<nil>"
#: Scales of decimal suffixes, as exponents of ten.
_SCALES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY: Final = re.compile(r"([+-]?[0-9]+\.?[0-9]*|[+-]?\.[0-9]+)(.*)")
_NUMBERS: Final = frozenset({"int32", "int64", "int", "uint16", "uint32"})


def dump(type_name: str, tree: Mapping[str, Any]) -> str:
    """Format a struct. ``tree`` is its JSON form, zero values omitted."""
    return f"({type_name}){_value(type_name, tree)}"


def _value(type_name: str, value: Any) -> str:
    """Format a value without its type."""
    if type_name.startswith("*"):
        return _NIL if value is None else _value(type_name[1:], value)
    if type_name.startswith("[]"):
        return f"[{' '.join(_value(type_name[2:], item) for item in value)}]" if value else _NIL
    if type_name.startswith("map[") or type_name in MAPS_OF_QUANTITIES:
        return _map(type_name.rpartition("]")[2] if type_name.startswith("map[") else "resource.Quantity", value)
    match type_name:
        case "v1.Time":
            return _ZERO_TIME
        case "resource.Quantity":
            return _quantity(value)
        case "intstr.IntOrString":
            return _int_or_string(value)
        case "bool":
            return "true" if value else "false"
    if type_name in LAYOUT:
        return _struct(type_name, value or {})
    if type_name in _NUMBERS:
        return str(value or 0)
    return str(value or "")


def _map(item_type: str, value: Mapping[str, Any] | None) -> str:
    if not value:
        return _NIL
    return f"map[{' '.join(f'{key}:{_value(item_type, value[key])}' for key in sorted(value))}]"


def _struct(type_name: str, value: Mapping[str, Any]) -> str:
    parts = []
    for go_name, json_name, field_type in _fields(type_name):
        # Embedded structs are inlined in JSON.
        inner = value.get(json_name) if json_name else value
        parts.append(f"{go_name}:({field_type}){_value(field_type, inner)}")
    return "{" + " ".join(parts) + "}"


@cache
def _fields(type_name: str) -> tuple[tuple[str, str, str], ...]:
    """Return Go name, JSON name (empty: embedded) and type of each field."""
    fields = []
    for line in LAYOUT[type_name].split(","):
        name, field_type = line.split()
        go_name, separator, json_name = name.partition("=")
        fields.append((go_name, json_name if separator else go_name[:1].lower() + go_name[1:], field_type))
    return tuple(fields)


def _int_or_string(value: Any) -> str:
    if isinstance(value, str):
        return "{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)" + value + "}"
    return "{Type:(intstr.Type)0 IntVal:(int32)" + str(value or 0) + " StrVal:(string)}"


def _quantity(text: Any) -> str:
    """Format a quantity as Go's struct: a number, a scale, and the original text."""
    match = _QUANTITY.fullmatch(text or "")
    if match is None:
        return _amount(0, 0, "", "")
    number, suffix = match.groups()
    whole, _, fraction = number.partition(".")
    digits = int(whole + fraction)
    if suffix in _SCALES:
        return _amount(digits, _SCALES[suffix] - len(fraction), text, "DecimalSI")
    if suffix in _BINARY and not fraction:
        return _amount(digits << _BINARY[suffix], 0, text, "BinarySI")
    if suffix in _BINARY:  # Go stores these as arbitrary-precision decimals; only the value matters here
        return _amount(parse(text).nanos, -9, text, "BinarySI")
    return _amount(digits, int(suffix[1:]) - len(fraction), text, "DecimalExponent")


def _amount(value: int, scale: int, text: str, form: str) -> str:
    return (
        "{i:(resource.int64Amount){value:(int64)" + f"{value} scale:(resource.Scale){scale}"
        "} d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)" + text + " Format:(resource.Format)" + form + "}"
    )
