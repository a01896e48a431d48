"""Built-in types from the generated tables, loaded lazily, one table per group and version."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.apimachinery.typemodel import Field, ListOf, ListType, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.schema.resources import table as resource_table

GENERATED: Final = Path(__file__).parent / "generated"
META_V1: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META: Final = META_V1 + ".ObjectMeta"

#: Definition name → struct; registered before its fields are read, as types may be recursive.
_structs: dict[str, Struct] = {}
_scalars: Final = {kind.value: Scalar(kind) for kind in ScalarKind}


def struct(definition: str) -> Struct:
    """Return the type of a definition name (``io.k8s.api.core.v1.Pod``). Raises KeyError if there is none."""
    struct = _structs.get(definition)
    return struct if struct is not None else _load(definition)


def struct_for(group: str, version: str, kind: str) -> Struct:
    """Return the type of a built-in kind. Raises KeyError if the kind is not built in.

    Kinds that all groups share (``DeleteOptions``, ``WatchEvent``, …) are found in each group, also in unknown ones.
    """
    try:
        return _struct_of(resource_table().modules.get((group, version), META_V1), kind)
    except KeyError:
        raise KeyError(f"{group}/{version}, Kind={kind}") from None


@cache
def _struct_of(module: str, kind: str) -> Struct:
    """Return the type of a kind in a module, or of one that all groups share. Clients choose groups, so none is a key here."""
    for owner in (module, META_V1):
        if kind in _table(owner):
            return struct(f"{owner}.{kind}")
    raise KeyError(kind)


def definitions(group: str, version: str) -> tuple[str, ...]:
    """Return the names of all definitions of a served group version. Raises KeyError if it is not served."""
    module = resource_table().modules[group, version]
    return tuple(f"{module}.{name}" for name in _table(module))


@cache
def _table(module: str) -> dict[str, Any]:
    """Return the table of a module. Raises KeyError if there is none."""
    path = GENERATED / f"{'_'.join(module.split('.')[-2:])}.json"
    try:
        data = path.read_bytes()
    except OSError:
        raise KeyError(module) from None
    rows: dict[str, Any] = msgspec.json.decode(data)
    return rows


def _load(definition: str) -> Struct:
    module, _, name = definition.rpartition(".")
    row = _table(module)[name]
    attributes = row[1] if len(row) > 1 else {}
    loaded = Struct(definition, {}, atomic=attributes.get("atomic", False))
    _structs[definition] = loaded
    for field in row[0]:
        loaded.fields[field[0]] = _field(module, *field)
    return loaded


def _field(module: str, name: str, type_: Any, flags: str, extras: dict[str, Any] | None = None) -> Field:
    extras = extras or {}
    loaded = _type(module, type_)
    if "granular" in extras and isinstance(loaded, Struct):  # owned field by field here, as a whole elsewhere
        loaded = Struct(loaded.name, loaded.fields)
    return Field(
        name,
        loaded,
        required="w" in flags,
        keep_zero="p" in flags,
        omit_zero="z" in flags,
        mandatory="r" in flags,
        default=extras.get("default"),
        patch_strategies=tuple(extras.get("patch", ())),
        patch_merge_key=extras.get("key", ""),
    )


def _type(module: str, row: Any) -> Type:
    if isinstance(row, str):
        if not row.startswith("#"):
            return _scalars[row]
        name = row[1:]
        return struct(name if "." in name else f"{module}.{name}")
    value = _type(module, row[1])
    if row[0] == "map":
        return MapOf(value, atomic=len(row) > 2)
    return ListOf(
        value,
        list_type=ListType(row[2]) if len(row) > 2 else ListType.ATOMIC,
        keys=tuple(row[3]) if len(row) > 3 else (),
        key_defaults=row[4] if len(row) > 4 else None,
    )
