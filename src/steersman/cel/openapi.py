"""CEL types and values of structural schemas and custom resources.

Upstream: ``SchemaDeclType`` and ``UnstructuredToVal``.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any, Final

from steersman.cel import times
from steersman.cel import types as t
from steersman.cel.field_use import FieldUse
from steersman.cel.subtypes import MapList, SetList
from steersman.cel.values import INT_MAX, NANOS, Duration, EvalError
from steersman.cel.words import RESERVED, is_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.cel.types import Type

    Convert = Callable[[Any], Any]

#: Maximum request size in bytes.
REQUEST_MAX_BYTES: Final = 3 * 1024 * 1024

#: Use of a value and of everything in it.
WHOLE: Final = FieldUse(is_whole=True)

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_SCALA_PART: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
#: Short names, the start of the long names, and nanoseconds of units.
_SCALA_UNITS: Final = (
    (("ns",), "nano", 1),
    (("us", "µs"), "micro", 10**3),
    (("ms",), "milli", 10**6),
    (("s",), "sec", NANOS),
    (("m",), "min", 60 * NANOS),
    (("h", "hr"), "hour", 3600 * NANOS),
    (("d",), "day", 24 * 3600 * NANOS),
    (("w", "wk"), "week", 7 * 24 * 3600 * NANOS),
)
_METADATA: Final[Tree] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}
_ESCAPED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SPECIAL: Final = re.compile(r"__|[.\-/]")


def escape(name: str) -> str:
    """Return the escaped property name; empty if it cannot be used in expressions."""
    if name in RESERVED:
        return f"__{name}__"
    escaped = _SPECIAL.sub(lambda match: _ESCAPED[match[0]], name)
    return escaped if is_name(escaped) else ""


def with_metadata(schema: Tree) -> Tree:
    """Return the schema of a resource with ``apiVersion``, ``kind`` and the names in ``metadata``.

    A schema that specifies all of them, as published ones do, stays; else no other fields of metadata are accessible.
    """
    text = {"type": "string"}
    properties: dict[str, Tree] = schema.get("properties") or {}
    metadata = properties.get("metadata") or {}
    names = metadata.get("properties") or {}
    texts = (properties.get("apiVersion"), properties.get("kind"), names.get("name"), names.get("generateName"))
    if metadata.get("type") == "object" and all((below or {}).get("type") == "string" for below in texts):
        return {**schema, "type": "object"}
    properties = {**properties, "apiVersion": text, "kind": text, "metadata": _METADATA}
    return {**schema, "type": "object", "properties": properties}


def declare(schema: Tree, *, is_resource: bool) -> Type | None:
    """Return the type of a schema; None if it is not accessible to expressions.

    Sizes are upstream's: a value without a length has no size, so the estimated cost of comparing it is zero.
    """
    if schema.get(_INT_OR_STRING):
        return t.sized(t.DYN, _text_size(schema, REQUEST_MAX_BYTES - 2), min_json_size=1)
    if is_resource:
        schema = with_metadata(schema)
    match schema.get("type"):
        case "array":
            return _declare_list(schema)
        case "object":
            return _declare_map(schema) if isinstance(schema.get("additionalProperties"), dict) else _struct(schema)
        case "string":
            return _declare_text(schema)
        case "boolean":
            return t.sized(t.BOOL, 0, min_json_size=4)
        case "number":
            return t.sized(t.DOUBLE, 0, min_json_size=1)
        case "integer":
            return t.sized(t.INT, 0, min_json_size=1)
    return None


def _declare_list(schema: Tree) -> Type | None:
    items = schema.get("items")
    if not isinstance(items, dict):
        return None
    item = declare(items, is_resource=bool(items.get(_EMBEDDED)))
    if item is None:
        return None
    most = schema.get("maxItems")
    if most is None:
        most = (REQUEST_MAX_BYTES - 2) // (item.min_json_size + 1)
    return t.sized(t.list_of(item), max(most, 0), min_json_size=2)


def _declare_map(schema: Tree) -> Type | None:
    values = schema["additionalProperties"]
    value = declare(values, is_resource=bool(values.get(_EMBEDDED)))
    if value is None:
        return None
    most = schema.get("maxProperties")
    if most is None:
        most = (REQUEST_MAX_BYTES - 2) // (value.min_json_size + 6)
    # Keys count as empty in cost estimates: upstream's key type, ``StringType``, has no ``MaxElements``
    # (``apiserver/pkg/cel/types.go``), and published definitions depend on it.
    return t.sized(t.map_of(t.sized(t.STRING, 0), value), max(most, 0), min_json_size=2)


def _struct(schema: Tree) -> Type:
    fields: dict[str, Type] = {}
    keys: dict[str, str] = {}
    smallest = 2
    required = frozenset(schema.get("required") or ())
    for name, below in (schema.get("properties") or {}).items():
        type_ = declare(below, is_resource=bool(below.get(_EMBEDDED)))
        if type_ is None:
            continue
        escaped = escape(name)
        if escaped:
            fields[escaped] = type_
            keys[escaped] = name
        if name in required and below.get("default") is None:
            smallest += len(name) + type_.min_json_size + 4
    return t.sized(t.object_type("object", fields, keys), 0, min_json_size=smallest)


def _text_size(schema: Tree, default: int) -> int:
    most = schema.get("maxLength")
    return default if most is None else max(most, 0) * 4


def _declare_text(schema: Tree) -> Type:
    match schema.get("format"):
        case "byte":
            most = schema.get("maxLength")
            return t.sized(t.BYTES, REQUEST_MAX_BYTES - 2 if most is None else max(most, 0), min_json_size=2)
        case "duration":
            return t.sized(t.DURATION, 32, min_json_size=3)
        case "date":
            return t.sized(t.TIMESTAMP, 12, min_json_size=12)
        case "date-time":
            return t.sized(t.TIMESTAMP, 32, min_json_size=21)
    longest = REQUEST_MAX_BYTES - 2
    if schema.get("enum"):
        longest = max((len(value) for value in schema["enum"] if isinstance(value, str)), default=0)
    return t.sized(t.STRING, _text_size(schema, longest), min_json_size=2)


def _bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value) if isinstance(value, str) else value
    except binascii.Error:
        return value


def _duration(value: Any) -> Any:
    """Convert a duration of Go, or of Scala (``2 days 3 hours``). Upstream: ``strfmt.ParseDuration``."""
    if not isinstance(value, str):
        return value
    try:
        return times.parse_duration(value)
    except EvalError:
        parts = [(int(count[:20]), _unit_nanos(unit.lower())) for count, unit in _SCALA_PART.findall(value)]
        total = sum(count * nanos for count, nanos in parts)
        return Duration(total) if any(nanos for _, nanos in parts) and total <= INT_MAX else value


def _unit_nanos(unit: str) -> int:
    """Return the nanoseconds of a unit; 0 if it is unknown."""
    return next((nanos for names, word, nanos in _SCALA_UNITS if unit in names or unit.startswith(word)), 0)


def _date_time(value: Any) -> Any:
    try:
        return times.parse_timestamp(value) if isinstance(value, str) else value
    except EvalError:
        return value


def _date(value: Any) -> Any:
    return _date_time(f"{value}T00:00:00Z")


def _double(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


_TEXTS: Final[dict[str, Convert]] = {"byte": _bytes, "duration": _duration, "date": _date, "date-time": _date_time}


def converter(schema: Tree, use: FieldUse = WHOLE) -> Convert | None:
    """Return a function from a JSON tree to a CEL value; None if the tree is one already.

    Fields outside ``use`` are left as they are.
    """
    if schema.get(_INT_OR_STRING) or not (use.is_whole or use.fields):
        return None
    match schema.get("type"):
        case "string":
            return _TEXTS.get(schema.get("format") or "")
        case "number":
            return _double
        case "array":
            return _list_converter(schema)
        case "object":
            return _object_converter(schema, use)
    return None


def _list_converter(schema: Tree) -> Convert | None:
    items, list_type = schema.get("items"), schema.get(_LIST_TYPE)
    convert = converter(items) if isinstance(items, dict) else None
    keys = tuple(schema.get(_LIST_KEYS) or ())
    if convert is None and list_type not in ("set", "map"):
        return None

    def make(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        items = value if convert is None else [convert(item) for item in value]
        if list_type == "set":
            return SetList(items)
        return MapList(items, keys) if list_type == "map" else items

    return make


def _object_converter(schema: Tree, use: FieldUse) -> Convert | None:
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        convert_other = converter(others)
        if convert_other is None:
            return None
        return lambda value: {k: convert_other(v) for k, v in value.items()} if isinstance(value, dict) else value
    converters: dict[str, Convert] = {}
    for name, below in (schema.get("properties") or {}).items():
        used = WHOLE if use.is_whole else use.fields.get(name)
        convert = converter(below, used) if used is not None else None
        if convert is not None:
            converters[name] = convert
    if not converters:
        return None

    def make(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        converted = dict(value)
        for name, convert in converters.items():
            if name in converted:
                converted[name] = convert(converted[name])
        return converted

    return make
