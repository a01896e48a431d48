"""Duplicate keys in JSON texts of built-in kinds: strict decoding errors, and the tree that Go's decoder makes of them.

Go decodes the second value of a field into what the first one left: objects are merged, other values are replaced. Types
with a decoder of their own (``RawExtension``, ``FieldsV1``, ``JSON``, schemas within schemas) are read as one value.

Upstream: ``object`` and ``array`` of ``sigs.k8s.io/json/internal/golang/encoding/json/decode.go``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.json_values import Pairs
from steersman.apimachinery.typemodel import Field, ListOf, MapOf, Scalar, Struct, Type
from steersman.apimachinery.workmeter import charged
from steersman.schema.diagnosis import STRICT_ERRORS_MAX

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_UNITS_PER_KEY: Final = 2


def strict_messages(struct: Struct, raw: bytes) -> list[str]:
    """Return the strict decoding errors of a JSON text, in document order, each once, at most 100.

    What is in an unknown field is skipped.
    """
    messages: dict[str, None] = {}
    _collect(struct, _read(raw), "", messages)
    return list(messages)[:STRICT_ERRORS_MAX]


def merged_tree(struct: Struct, raw: bytes) -> Any:
    """Return the tree of a JSON text with duplicate keys, as decoded into a type."""
    return _merged(struct, _read(raw), None)


def _read(raw: bytes) -> Any:
    return json.loads(raw.decode(), object_pairs_hook=Pairs)


def _collect(type_: Type, node: Any, path: str, messages: dict[str, None]) -> None:
    if isinstance(node, Pairs):
        if isinstance(type_, (Struct, MapOf)):
            _collect_object(type_, node, path, messages)
    elif isinstance(node, list) and isinstance(type_, ListOf):
        for position, item in enumerate(charged(node, _UNITS_PER_KEY)):
            _collect(type_.item, item, f"{path}[{position}]", messages)


def _collect_object(type_: Struct | MapOf, node: Pairs, path: str, messages: dict[str, None]) -> None:
    seen: set[str] = set()
    for key, value in charged(node, _UNITS_PER_KEY):
        below = f"{path}.{key}" if path else key
        value_type = type_.value if isinstance(type_, MapOf) else _type_of(type_.fields.get(key))
        if value_type is None:
            messages[f"unknown field {quote(below)}"] = None
            continue
        if key in seen:
            messages[f"duplicate field {quote(below)}"] = None
        seen.add(key)
        _collect(value_type, value, below, messages)


def _type_of(field: Field | None) -> Type | None:
    return None if field is None else field.type


def _merged(type_: Type | None, node: Any, before: Any) -> Any:
    """Return a value as decoded into a variable that holds ``before``."""
    if isinstance(node, Pairs):
        if isinstance(type_, Struct):
            return _merged_struct(type_, node, before if isinstance(before, dict) else {})
        # elements of a map are decoded into new variables
        values = type_.value if isinstance(type_, MapOf) else None
        entries = before if isinstance(type_, MapOf) and isinstance(before, dict) else {}
        return {**entries, **{key: _merged(values, value, None) for key, value in charged(node, _UNITS_PER_KEY)}}
    if isinstance(node, list):
        items = type_.item if isinstance(type_, ListOf) else None
        held = before if items is not None and isinstance(before, list) else []
        return [
            _merged(items, item, held[position] if position < len(held) else None)
            for position, item in enumerate(charged(node, _UNITS_PER_KEY))
        ]
    return node


def _merged_struct(struct: Struct, node: Pairs, before: Tree) -> Tree:
    tree = dict(before)
    for key, value in charged(node, _UNITS_PER_KEY):
        field = struct.fields.get(key)
        if value is None and key in tree and field is not None and _is_held_by_value(field):
            continue
        tree[key] = _merged(_type_of(field), value, tree.get(key))
    return tree


def _is_held_by_value(field: Field) -> bool:
    """Report whether a null leaves the field as it is, because Go holds no pointer, list or map there."""
    if field.keep_zero:
        return False
    return isinstance(field.type, Scalar) or (isinstance(field.type, Struct) and field.required)
