"""Validation of CSINodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate_sources import check_csi_driver_name
from steersman.apiserver.kinds.shared.validation import (
    FIELD_IS_IMMUTABLE,
    check_all,
    check_not_negative,
    repeat_positions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_DRIVERS: Final = field.Path("spec", "drivers")
_NODE_ID_MAX: Final = 192


def validate_csi_node(obj: Tree) -> Iterator[FieldError]:
    """Validate a CSINode."""
    seen: set[str] = set()
    for position, driver in enumerate(_drivers(obj)):
        item_path, name = _DRIVERS.index(position), driver.get("name") or ""
        yield from check_csi_driver_name(name, item_path.child("name"))
        yield from _validate_driver(driver, item_path)
        if name in seen:
            yield field.duplicate(item_path.child("name"), name)
        seen.add(name)
        yield from _validate_topology(driver.get("topologyKeys") or (), item_path)


def validate_csi_node_update(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update: of a driver that remains, only ``allocatable`` may change."""
    yield from validate_csi_node(obj)
    yield from validate_csi_node(obj)  # upstream validates twice and reports errors twice
    before = {driver.get("name"): driver for driver in _drivers(old)}
    for driver in _drivers(obj):
        old_driver = before.get(driver.get("name"))
        if old_driver is not None and _fixed(driver) != _fixed(old_driver):
            yield field.invalid(_DRIVERS, go_form("CSINodeDriver", {**driver, "allocatable": None}), FIELD_IS_IMMUTABLE)


def _drivers(obj: Tree) -> list[Tree]:
    return list((obj.get("spec") or {}).get("drivers") or ())


def _fixed(driver: Tree) -> Tree:
    return {name: value for name, value in driver.items() if name != "allocatable" and value}


def _validate_driver(driver: Tree, path: Path) -> Iterator[FieldError]:
    node_id = driver.get("nodeID") or ""
    if not node_id:
        yield field.required(path.child("nodeID"))
    elif len(node_id.encode()) > _NODE_ID_MAX:
        yield field.invalid(path.child("nodeID"), node_id, f"must be {_NODE_ID_MAX} characters or less")
    yield from check_not_negative((driver.get("allocatable") or {}).get("count"), path.child("allocatable", "count"))


def _validate_topology(keys: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Validate topology keys. As upstream, messages name the driver."""
    repeats = repeat_positions(keys)
    for position, key in enumerate(keys):
        if not key:
            yield field.required(path)
        if position in repeats:
            yield field.duplicate(path, key)
        yield from check_all(path, key, names.check_qualified_name(key))
