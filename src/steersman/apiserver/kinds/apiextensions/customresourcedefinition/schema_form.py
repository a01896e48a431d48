"""Schemas as Go prints them in messages: all fields of ``JSONSchemaProps`` in declaration order, with Go names.

Upstream: ``staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types_jsonschema.go``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.workmeter import spend
from steersman.apiserver.kinds.shared.go_form import go_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from steersman.apimachinery.trees import Tree

#: Work units of one schema in one walk over a definition.
UNITS_PER_SCHEMA: Final = 10

_NAMES: Final = (
    "ID Schema Ref Description Type Nullable Format Title Default Maximum ExclusiveMaximum Minimum ExclusiveMinimum "
    "MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Enum MaxProperties MinProperties Required Items "
    "AllOf OneOf AnyOf Not Properties AdditionalProperties PatternProperties Dependencies AdditionalItems Definitions "
    "ExternalDocs Example XPreserveUnknownFields XEmbeddedResource XIntOrString XListMapKeys XListType XMapType XValidations"
)
_ODD_KEYS: Final = {"ID": "id", "Schema": "$schema", "Ref": "$ref"}
_TEXTS: Final = frozenset(("ID", "Schema", "Description", "Type", "Format", "Title", "Pattern"))
_FLAGS: Final = frozenset(
    ("Nullable", "ExclusiveMaximum", "ExclusiveMinimum", "UniqueItems", "XEmbeddedResource", "XIntOrString")
)
_capitals: Final = re.compile(r"(?<=.)(?=[A-Z])")


def _key(name: str) -> str:
    """Return the JSON name of a field: ``MaxLength`` is ``maxLength``, ``XListType`` is ``x-kubernetes-list-type``."""
    if name in _ODD_KEYS:
        return _ODD_KEYS[name]
    if name[0] == "X":
        return "x-kubernetes-" + _capitals.sub("-", name[1:]).lower()
    return name[0].lower() + name[1:]


_KEYS: Final = {name: _key(name) for name in _NAMES.split()}


def set_fields(schema: Tree) -> Iterator[str]:
    """Yield the Go names of the fields that do not have Go's zero value, in declaration order."""
    for name, key in _KEYS.items():
        value = schema.get(key)
        if value is not None and not (value in ("", False) and (name in _TEXTS or name in _FLAGS)):
            yield name


def schema_form(schema: Tree | None) -> Tree | None:
    """Return a schema as a tree in Go's form."""
    if schema is None:
        return None
    spend(UNITS_PER_SCHEMA)
    return {name: _value(name, schema.get(key)) for name, key in _KEYS.items()}


def _value(name: str, value: Any) -> Any:
    if value is None:
        return "" if name in _TEXTS else False if name in _FLAGS else None
    show = _SHOW.get(name)
    return value if show is None else show(value)


def _list(parts: list[Tree]) -> list[Tree | None]:
    return [schema_form(part) for part in parts]


def _map(parts: Mapping[str, Tree]) -> dict[str, Tree | None]:
    return {key: schema_form(part) for key, part in sorted(parts.items())}


def items_form(items: Tree | list[Tree]) -> Tree:
    """Return ``items``, a schema or a list of them, as a tree in Go's form."""
    if isinstance(items, list):
        return {"Schema": None, "JSONSchemas": _list(items)}
    return {"Schema": schema_form(items), "JSONSchemas": None}


def _schema_or_bool(value: Any) -> Tree:
    if isinstance(value, dict):
        return {"Allows": True, "Schema": schema_form(value)}
    return {"Allows": value, "Schema": None}


def _dependencies(dependencies: Mapping[str, Any]) -> Tree:
    return {
        key: {"Schema": None, "Property": value}
        if isinstance(value, list)
        else {"Schema": schema_form(value), "Property": None}
        for key, value in sorted(dependencies.items())
    }


def _documentation(documentation: Tree) -> Tree:
    return {"Description": documentation.get("description", ""), "URL": documentation.get("url", "")}


def _rules(rules: list[Tree]) -> Any:
    return go_form("ValidationRule", rules)


_SHOW: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Items": items_form,
    "AllOf": _list,
    "OneOf": _list,
    "AnyOf": _list,
    "Not": schema_form,
    "Properties": _map,
    "AdditionalProperties": _schema_or_bool,
    "PatternProperties": _map,
    "Dependencies": _dependencies,
    "AdditionalItems": _schema_or_bool,
    "Definitions": _map,
    "ExternalDocs": _documentation,
    "XValidations": _rules,
}
