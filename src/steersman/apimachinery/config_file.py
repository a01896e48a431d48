"""Strict decoding of configuration files (``apiserver.config.k8s.io``) into structs.

Upstream: ``runtime.Decode`` with a codec factory of ``serializer.EnableStrict``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import inspect

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.yaml_codec import decode_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

T = TypeVar("T", bound=msgspec.Struct)

_TYPE_META: Final = ("kind", "apiVersion")
_LISTS: Final = (inspect.VarTupleType, inspect.ListType)
_OBJECTS: Final = (inspect.StructType, inspect.DictType)
_SCALARS: Final[dict[type[inspect.Type], tuple[type | tuple[type, ...], str]]] = {
    inspect.StrType: (str, "a string"),
    inspect.BoolType: (bool, "a boolean"),
    inspect.IntType: (int, "an integer"),
    inspect.FloatType: ((int, float), "a number"),
}


class ConfigFileError(ValueError):
    """The file is no valid document of its kind; the text names the fields."""


def decode_config(data: bytes, struct: type[T], *, kind: str, api_versions: Collection[str]) -> T:
    """Return the document of a YAML or JSON file; null is a field's default. Raises ``ConfigFileError``.

    ``struct`` has the fields besides ``kind`` and ``apiVersion``: strings, booleans, numbers, lists (tuples), maps, structs.
    """
    if not data:
        raise ConfigFileError("empty config data")
    try:
        document = decode_yaml(data)
    except DecodeError as error:
        raise ConfigFileError(str(error)) from error
    return convert_config(
        document.tree,
        struct,
        kind=kind,
        api_versions=api_versions,
        problems=[document.strict_error()] if document.duplicates else [],
    )


def convert_config(
    tree: Any, struct: type[T], *, kind: str, api_versions: Collection[str], problems: Sequence[str] = ()
) -> T:
    """Return a decoded document, as ``decode_config``; ``problems`` are those of its text. Raises ``ConfigFileError``."""
    found_kind, version = (tree.get("kind"), tree.get("apiVersion")) if isinstance(tree, dict) else (None, None)
    if found_kind != kind or version not in api_versions:
        raise ConfigFileError(
            f"no kind {quote(str(found_kind or ''))} is registered for version {quote(str(version or ''))},"
            f" expected {kind} of {' or '.join(api_versions)}"
        )
    faults: list[str] = list(problems)
    body = {name: value for name, value in tree.items() if name not in _TYPE_META}
    cleaned = _clean(body, inspect.type_info(struct), "", faults)
    if faults:
        raise ConfigFileError(f"strict decoding error: {', '.join(faults)}")
    return msgspec.convert(cleaned, struct)


def _clean(value: Any, info: inspect.Type, path: str, problems: list[str]) -> Any:
    """Return the value without nulls; record unknown fields and values of another type."""
    if isinstance(info, inspect.UnionType):  # an optional value
        info = next(member for member in info.types if not isinstance(member, inspect.NoneType))
    if isinstance(info, inspect.StructType):
        return _clean_struct(value, info, path, problems)
    if isinstance(info, _LISTS):
        if not isinstance(value, list):
            problems.append(f'field "{path}" must be a list')
            return []
        return [
            _clean(_zero(info.item_type) if item is None else item, info.item_type, f"{path}[{position}]", problems)
            for position, item in enumerate(value)
        ]
    if isinstance(info, inspect.DictType):
        if not isinstance(value, dict):
            problems.append(f'field "{path}" must be a map')
            return {}
        items = {name: item for name, item in value.items() if item is not None}
        return {name: _clean(item, info.value_type, f"{path}.{name}", problems) for name, item in items.items()}
    types, name = _SCALARS[type(info)]
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        problems.append(f'field "{path}" must be {name}')
    return value


def _clean_struct(value: Any, info: inspect.StructType, path: str, problems: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        problems.append(f'field "{path}" must be an object')
        return {}
    fields = {field.encode_name: field.type for field in info.fields}
    cleaned = {}
    for name, item in value.items():
        field_path = f"{path}.{name}" if path else str(name)
        if name not in fields:
            problems.append(f'unknown field "{field_path}"')
        elif item is not None:
            cleaned[name] = _clean(item, fields[name], field_path, problems)
    return cleaned


def _zero(info: inspect.Type) -> Any:
    """Return the value of a null in a list."""
    if isinstance(info, _OBJECTS):
        return {}
    return "" if isinstance(info, inspect.StrType) else None
