"""Removal of fields that a type does not specify, of the metadata of custom objects.

Only structure counts: a value of the wrong JSON type is kept, for decoding to reject, and so are nulls. Custom objects
themselves are pruned by their structural schemas (`apiserver.crd.pruning`).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from steersman.apimachinery.typemodel import ListOf, MapOf, Struct, Type
from steersman.apimachinery.workmeter import charged

_UNITS_PER_VALUE: Final = 2


class Pruned(NamedTuple):
    """Pruned tree, and the paths of dropped fields (`spec.items[0].typo`), sorted as upstream."""

    tree: Any
    unknown: list[str]


def prune(struct: Struct, tree: Any) -> Pruned:
    """Return a pruned copy, which may share unchanged parts with `tree`."""
    pruner = _Pruner()
    pruned = pruner.prune(struct, tree)
    unknown: list[str] = []
    if pruner.has_dropped:
        _collect_unknown(struct, tree, "", unknown)
        unknown.sort()
    return Pruned(pruned, unknown)


class _Pruner:
    """Walk that copies what is specified; it does without paths, which few objects need."""

    __slots__ = ("has_dropped",)

    def __init__(self) -> None:
        self.has_dropped = False

    def prune(self, type_: Type, value: Any) -> Any:
        if isinstance(value, dict):
            if isinstance(type_, Struct):
                return self._prune_struct(type_, value)
            if isinstance(type_, MapOf):
                below = type_.value
                return {
                    key: self.prune(below, item) if _is_container(item) else item
                    for key, item in charged(value.items(), _UNITS_PER_VALUE)
                }
        elif isinstance(value, list) and isinstance(type_, ListOf):
            below = type_.item
            return [
                self.prune(below, item) if _is_container(item) else item for item in charged(value, _UNITS_PER_VALUE)
            ]
        return value

    def _prune_struct(self, struct: Struct, value: dict[str, Any]) -> dict[str, Any]:
        pruned: dict[str, Any] = {}
        fields = struct.fields
        for key, item in charged(value.items(), _UNITS_PER_VALUE):
            field = fields.get(key)
            if field is not None:
                pruned[key] = self.prune(field.type, item) if _is_container(item) else item
            elif struct.preserve_unknown:
                pruned[key] = item
            else:
                self.has_dropped = True
        return pruned


def _is_container(value: Any) -> bool:
    return isinstance(value, (dict, list))


def _collect_unknown(type_: Type, value: Any, path: str, unknown: list[str]) -> None:
    """Collect the paths of fields that pruning drops."""
    if isinstance(type_, Struct) and isinstance(value, dict):
        for key, item in charged(value.items(), _UNITS_PER_VALUE):
            field = type_.fields.get(key)
            if field is not None:
                _collect_unknown(field.type, item, _join(path, key), unknown)
            elif not type_.preserve_unknown:
                unknown.append(_join(path, key))
    elif isinstance(type_, ListOf) and isinstance(value, list):
        for index, item in enumerate(charged(value, _UNITS_PER_VALUE)):
            _collect_unknown(type_.item, item, f"{path}[{index}]", unknown)
    elif isinstance(type_, MapOf) and isinstance(value, dict):
        for key, item in charged(value.items(), _UNITS_PER_VALUE):
            _collect_unknown(type_.value, item, _join(path, key), unknown)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
