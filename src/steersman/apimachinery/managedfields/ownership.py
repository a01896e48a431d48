"""Owners after a write: the rules of update and apply over sets of fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.managedfields.compare import UNOWNED, UNOWNED_METADATA, Comparison, compare_objects
from steersman.apimachinery.managedfields.conflicts import OwnershipError
from steersman.apimachinery.managedfields.entries import Managed, Owned, Owner
from steersman.apimachinery.managedfields.fieldset import (
    Filter,
    Node,
    Path,
    difference,
    excluding,
    intersection,
    of,
    union,
)
from steersman.apimachinery.managedfields.reconcile import reconcile, with_named_fields
from steersman.apimachinery.managedfields.remove import remove_fields
from steersman.apimachinery.managedfields.schema import Schema, UnknownVersionError
from steersman.apimachinery.managedfields.shapes import ObjectShape, root_shape

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct

#: Fields that a write never owns because the kind's strategy resets them: paths, or a filter that drops them.
ResetFields = Sequence[Path] | Filter

_UNOWNED: Final = frozenset(f"f:{name}" for name in UNOWNED)
_UNOWNED_METADATA: Final = frozenset(f"f:{name}" for name in UNOWNED_METADATA) | {"."}


def filter_of(reset_fields: ResetFields) -> Filter | None:
    """Return the filter that drops the reset fields from a set; None if there are none."""
    if callable(reset_fields):
        return reset_fields
    return _excluding(tuple(reset_fields)) if reset_fields else None


@lru_cache(maxsize=256)
def _excluding(reset: tuple[Path, ...]) -> Filter:
    return excluding(of(reset))


def ownable(fields: Node) -> Node:
    """Return the set without fields that are never owned: identity and the server's bookkeeping."""
    out: Node = {}
    for element, below in fields.items():
        if element == "f:metadata":
            below = {name: part for name, part in below.items() if name not in _UNOWNED_METADATA}
            if not below:
                continue
        if element not in _UNOWNED:
            out[element] = below
    return out


def reconcile_all(managed: Managed, schema: Schema) -> None:
    """Reconcile every owner's set with the present types."""
    for owner, owned in managed.items():
        try:
            struct = schema.struct_in(owned.api_version)
        except UnknownVersionError:
            continue
        fields = reconcile(owned.fields, root_shape(struct))
        if fields is not owned.fields:
            managed[owner] = Owned(fields, owned.api_version, owned.time)


def settle(
    live: Tree, new: Tree, managed: Managed, *, schema: Schema, reset: Filter | None, own: Owner | None, force: bool
) -> Comparison:
    """Remove differing fields from all owners in ``managed`` but ``own``; drop owners without fields.

    Returns the comparison in the write's version. Raises OwnershipError if others own changed fields and ``force``
    is off, and UnkeyedItemError for a list item without its key; ``managed`` is then unchanged.
    """
    comparisons = {schema.api_version: _compare(live, new, schema.struct, reset)}
    lost: dict[Owner, Node] = {}
    conflicts: dict[Owner, Node] = {}
    emptied_owners: list[Owner] = []
    for owner, owned in managed.items():
        if owner == own:
            continue
        comparison = comparisons.get(owned.api_version)
        if comparison is None:
            try:
                comparison = _compare_in(owned.api_version, live, new, schema, reset)
            except UnknownVersionError:
                emptied_owners.append(owner)
                continue
            comparisons[owned.api_version] = comparison
        lost_fields = intersection(owned.fields, comparison.changed) if comparison.changed else {}
        if lost_fields:
            conflicts[owner] = lost_fields
        if comparison.removed:
            lost_fields = union(lost_fields, intersection(owned.fields, comparison.removed))
        if lost_fields:
            lost[owner] = lost_fields
    if conflicts and not force:
        raise OwnershipError(conflicts)
    for owner in emptied_owners:
        del managed[owner]
    for owner, fields in lost.items():
        owned = managed[owner]
        managed[owner] = Owned(difference(owned.fields, fields), owned.api_version, owned.time)
    for owner in [owner for owner, owned in managed.items() if not owned.fields]:
        del managed[owner]
    return comparisons[schema.api_version]


def _compare(live: Tree, new: Tree, struct: Struct, reset: Filter | None) -> Comparison:
    comparison = compare_objects(live, new, struct)
    return comparison if reset is None else comparison.without(reset)


def _compare_in(api_version: str, live: Tree, new: Tree, schema: Schema, reset: Filter | None) -> Comparison:
    struct = schema.struct_in(api_version)
    source = schema.api_version
    return _compare(
        schema.convert(live, source=source, target=api_version),
        schema.convert(new, source=source, target=api_version),
        struct,
        reset,
    )


def prune(merged: Tree, managed: Managed, *, own: Owner, last: Owned | None, schema: Schema) -> Tree:
    """Return the merged object without fields that ``own`` applied last, does not apply now, and no other manager owns."""
    if last is None or not last.fields:
        return merged
    live_version = schema.api_version
    if last.api_version == live_version and not difference(last.fields, managed[own].fields):
        return merged  # everything is applied again
    try:
        shape = root_shape(schema.struct_in(last.api_version))
        whole = schema.convert(merged, source=live_version, target=last.api_version)
    except UnknownVersionError:
        return merged
    dropped = with_named_fields(last.fields, shape)
    cut = remove_fields(whole, dropped, shape)
    named = _named(whole, shape)
    cut = _with_owned(whole, cut, named, managed, version=last.api_version, schema=schema)
    # Unowned values, e.g. a default inside a list item, must not be removed with it.
    missing = difference(named, _named(cut, shape))
    cut = remove_fields(whole, intersection(missing, dropped), shape)
    return schema.convert(cut, source=last.api_version, target=live_version)


def _with_owned(whole: Tree, cut: Tree, named: Node, managed: Managed, *, version: str, schema: Schema) -> Tree:
    """Return ``cut`` with all owned fields restored from ``whole``. All are in ``version``."""
    owned_in: dict[str, Node] = {version: {}}
    for owned in managed.values():
        owned_in[owned.api_version] = union(owned_in.get(owned.api_version, {}), owned.fields)
    at = version
    for target, fields in owned_in.items():
        try:
            shape = root_shape(schema.struct_in(target))
            whole, cut = (
                schema.convert(whole, source=at, target=target),
                schema.convert(cut, source=at, target=target),
            )
        except UnknownVersionError:
            continue
        if target != version:
            named = _named(whole, shape)
        at = target
        cut_fields = union(_named(cut, shape), with_named_fields(fields, shape))
        cut = remove_fields(whole, difference(named, cut_fields), shape)
    return schema.convert(cut, source=at, target=version)


def _named(tree: Tree, shape: ObjectShape) -> Node:
    return with_named_fields(shape.below(tree), shape)
