"""Pruning: removal of custom resource fields that the schema does not specify.

Only structure counts: a value of the wrong JSON type is kept, for validation to reject, and so are nulls. Everything
below `x-kubernetes-preserve-unknown-fields` is kept, but specified fields there are pruned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from steersman.apimachinery.typemodel import ListOf, MapOf, Struct, Type


class Pruned(NamedTuple):
    """Pruned tree, and the paths of dropped fields (`spec.items[0].typo`), sorted as upstream."""

    tree: Any
    unknown: list[str]


def prune(struct: Struct, tree: Any) -> Pruned:
    """Return a pruned copy, which may share unchanged parts with `tree`."""
    unknown: list[str] = []
    pruned = _prune(struct, tree, "", unknown)
    return Pruned(pruned, sorted(unknown))


def _prune(type_: Type, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(type_, Struct) and isinstance(value, dict):
        return _prune_struct(type_, value, path, unknown)
    if isinstance(type_, ListOf) and isinstance(value, list):
        return [_prune(type_.item, item, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if isinstance(type_, MapOf) and isinstance(value, dict):
        return {key: _prune(type_.value, item, _join(path, key), unknown) for key, item in value.items()}
    return value


def _prune_struct(struct: Struct, value: dict[str, Any], path: str, unknown: list[str]) -> dict[str, Any]:
    pruned = {}
    for key, item in value.items():
        field = struct.fields.get(key)
        if field is not None:
            pruned[key] = _prune(field.type, item, _join(path, key), unknown)
        elif struct.preserve_unknown:
            pruned[key] = item
        else:
            unknown.append(_join(path, key))
    return pruned


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
