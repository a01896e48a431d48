"""Validation of an applied tree against its type; stored objects satisfy this by decoding."""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.gotext import to_go_syntax, to_value_text
from steersman.apimachinery.managedfields.elements import element_text
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError, item_keys
from steersman.apimachinery.typemodel import ListOf, ListType, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.apimachinery.workmeter import charged

_NUMERIC: Final = frozenset({ScalarKind.INT32, ScalarKind.INT64, ScalarKind.NUMBER})
#: ``untyped`` scalars: quantities, and strings with a format other than ``byte``.
_ANY_SCALAR: Final = frozenset({ScalarKind.QUANTITY, ScalarKind.TIME, ScalarKind.MICRO_TIME})
#: Kinds whose OpenAPI v3 definition has no ``type``, and ``RawExtension``: any value is valid; decoding checks it.
_UNTYPED: Final = frozenset(
    {
        ScalarKind.ANY,
        ScalarKind.RAW,
        ScalarKind.INT_OR_STRING,
        ScalarKind.SCHEMA_OR_BOOL,
        ScalarKind.SCHEMA_OR_ARRAY,
        ScalarKind.SCHEMA_OR_STRINGS,
    }
)
_UNITS_PER_VALUE: Final = 2
_GO_TYPES: Final = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}

#: Path as printed in messages, and the error.
Fault = tuple[str, str]
#: Position of a value: its parent and its own step (a name, a path element or an index), formatted only for an error.
#: The parent is a ``Place | None``; the compiler does not support recursive types.
Place = tuple[Any, str, Any]


def faults_of(tree: Any, struct: Struct) -> list[Fault]:
    """Return all errors: wrong types, undeclared fields, list items without a key or with a duplicate one."""
    faults: list[Fault] = []
    _check(tree, struct, None, faults)
    return faults


def faults_text(faults: list[Fault]) -> str:
    """Join the errors into one message."""
    lines = [f"{path}: {error_text}" if path else error_text for path, error_text in faults]
    return lines[0] if len(lines) == 1 else "\n  ".join(["errors:", *lines])


def _text(place: Place | None) -> str:
    if place is None:
        return ""
    above, sort, step = place
    own = {"field": ".{}", "position": "[{}]"}.get(sort, "{}").format(element_text(step) if sort == "item" else step)
    return _text(above) + own


def _check(value: Any, type_: Type, place: Place | None, faults: list[Fault], *, lenient: bool = False) -> None:
    """Add the errors of a value. ``lenient``: a parent type preserves unknown fields, which its inline types inherit.

    Upstream: kube-openapi ``pkg/schemaconv``, ``visitSpec`` (``preserveUnknownFields`` is passed down).
    """
    if value is None:
        return
    cls = type_.__class__
    if cls is Scalar:
        wrong = _scalar_fault(value, type_)  # type: ignore[arg-type]  # a Scalar
        if wrong:
            faults.append((_text(place), wrong))
    elif cls is ListOf:
        if value.__class__ is list:
            _check_items(value, type_, place, faults, lenient=lenient)  # type: ignore[arg-type]  # a ListOf
        else:
            faults.append((_text(place), f"expected list, got {_shown(value)}"))
    elif value.__class__ is not dict:
        faults.append((_text(place), f"expected map, got {_shown(value)}"))
    elif cls is MapOf:
        item_type = type_.value  # type: ignore[union-attr]  # a MapOf
        for name, item in charged(value.items(), _UNITS_PER_VALUE):
            _check(item, item_type, (place, "field", name), faults, lenient=lenient)
    else:
        _check_fields(value, type_, place, faults, lenient=lenient)  # type: ignore[arg-type]  # a Struct


def _check_fields(
    value: dict[str, Any], type_: Struct, place: Place | None, faults: list[Fault], *, lenient: bool
) -> None:
    fields = type_.fields
    # Definitions that are referenced by name (``ObjectMeta``) do not inherit it.
    lenient = type_.preserve_unknown or (lenient and not type_.name.startswith("io.k8s."))
    for name, item in charged(value.items(), _UNITS_PER_VALUE):
        field = fields.get(name)
        if field is not None:
            _check(item, field.type, (place, "field", name), faults, lenient=lenient)
        elif fields and not lenient:
            faults.append((_text((place, "field", name)), "field not declared in schema"))
            return


def _check_items(items: list[Any], type_: ListOf, place: Place | None, faults: list[Fault], *, lenient: bool) -> None:
    if type_.list_type is ListType.ATOMIC:
        for position, item in enumerate(charged(items, _UNITS_PER_VALUE)):
            _check(item, type_.item, (place, "position", position), faults, lenient=lenient)
        return
    seen: set[str] = set()
    element_of = item_keys(type_).element_of
    for position, item in enumerate(charged(items, _UNITS_PER_VALUE)):
        try:
            element = element_of(item)
        except UnkeyedItemError as error:
            faults.append((_text(place), f"element {position}: {error}"))
            return
        if element in seen:
            faults.append((_text(place), f"duplicate entries for key {element_text(element)}"))
        seen.add(element)
        _check(item, type_.item, (place, "item", element), faults, lenient=lenient)


def _shown(value: Any) -> str:
    """Format a value of the wrong type as in upstream's messages."""
    return f"&{{{to_value_text(value)}}}"


def _scalar_fault(value: Any, scalar: Scalar) -> str:
    """Return the error of a leaf that is not null, or an empty string.

    Upstream: structured-merge-diff ``typed/validate.go``, ``validateScalar``.
    """
    kind = scalar.kind
    if kind in _NUMERIC:
        if value.__class__ is int or value.__class__ is float:
            return ""
        return f"expected numeric (int or float), got {_GO_TYPES[value.__class__]}"
    if kind is ScalarKind.BOOLEAN:
        return "" if value.__class__ is bool else f"expected boolean, got {_shown(value)}"
    if kind in _UNTYPED:
        return ""
    if kind in _ANY_SCALAR or scalar.has_format:
        is_scalar = value.__class__ is not dict and value.__class__ is not list
        return "" if is_scalar else f"expected any scalar, got {_shown(value)}"
    if value.__class__ is str:
        return ""
    return f"expected string, got &value.valueUnstructured{{Value:{to_go_syntax(value)}}}"
