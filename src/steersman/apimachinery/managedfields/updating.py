"""Ownership after a create, update or patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.managedfields import entries
from steersman.apimachinery.managedfields.creating import Creation, creator_fields
from steersman.apimachinery.managedfields.entries import UPDATE, MalformedError, Managed, Owned, Owner, owner_of
from steersman.apimachinery.managedfields.fieldset import difference, union
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError
from steersman.apimachinery.managedfields.ownership import ResetFields, filter_of, reconcile_all, settle
from steersman.apimachinery.managedfields.schema import Schema, Versions
from steersman.apimachinery.managedfields.zero import zero_value

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.fieldset import Filter
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct


def update(
    live: Tree | None,
    new: Tree,
    *,
    struct: Struct,
    manager: str,
    api_version: str,
    time: str,
    subresource: str = "",
    reset_fields: ResetFields = (),
    versions: Versions | None = None,
) -> None:
    """Set the managedFields of ``new``, the object that a create, update or patch is about to store.

    ``live`` is the stored object in the same version, None on create. ``manager`` becomes the owner of changed
    values; others lose changed and removed fields. ``time`` is now, ``2024-05-06T07:08:09Z``. ``reset_fields`` are
    never owned. Without ``versions``, entries of other versions are dropped. Never raises: an object that cannot be
    compared keeps its owners, and is rejected by validation.
    """
    metadata = new.get("metadata")
    if metadata.__class__ is not dict:
        return
    stored = None if live is None else live["metadata"].get("managedFields")
    managed = _owners_before(stored, metadata.get("managedFields"), is_subresource=bool(subresource))
    if live is not None and metadata is live["metadata"]:
        metadata = new["metadata"] = dict(metadata)
    metadata.pop("managedFields", None)
    if live is not None and not managed:
        return  # no ownership is tracked until the first apply
    owner = owner_of(manager, UPDATE, api_version, subresource)
    schema = Schema(struct, api_version, versions)
    try:
        take_over(live, new, managed, owner=owner, schema=schema, time=time, reset=filter_of(reset_fields))
    except UnkeyedItemError:
        managed = entries.read(stored)
    if managed:
        metadata["managedFields"] = entries.write(managed)


def create_managed_fields(
    new: Tree,
    creation: Creation,
    *,
    manager: str,
    api_version: str,
    time: str,
    cached_spec: object = None,
    is_first_of_spec: bool = False,
) -> None:
    """Set the managedFields of a new object whose client sent none: its creator owns all fields.

    ``cached_spec``, ``is_first_of_spec``: see ``Creation.fields_of``.
    """
    try:
        fields = creation.fields_of(new, cached_spec, is_first_of_spec=is_first_of_spec)
    except UnkeyedItemError:
        return
    if fields:
        new["metadata"]["managedFields"] = entries.of_creator(manager, fields, api_version=api_version, time=time)


def _owners_before(stored: Any, posted: Any, *, is_subresource: bool) -> Managed:
    """Return the owners before a write: the client's, unless absent or malformed."""
    if posted is None or is_subresource or posted == stored:
        return entries.read(stored)
    if entries.is_reset(posted):
        return {}
    try:
        return entries.parse(posted) or entries.read(stored)
    except MalformedError:
        return entries.read(stored)


def take_over(
    live: Tree | None, new: Tree, managed: Managed, *, owner: Owner, schema: Schema, time: str, reset: Filter | None
) -> None:
    """Update ``managed`` for a write of ``new`` over ``live`` by ``owner``. Raises UnkeyedItemError."""
    if live is None and not managed:
        fields = creator_fields(new, schema.struct, reset)
        if fields:
            managed[owner] = Owned(fields, schema.api_version, time)
        return
    before = zero_value(schema.struct) if live is None else live
    reconcile_all(managed, schema)
    changed, removed = settle(before, new, managed, schema=schema, reset=reset, own=owner, force=True)
    previous = managed.pop(owner, None)
    previous_fields = {} if previous is None else difference(previous.fields, removed)
    if changed:
        managed[owner] = Owned(union(previous_fields, changed), schema.api_version, time)
    elif previous is not None and previous_fields:
        managed[owner] = (
            previous
            if previous_fields is previous.fields
            else Owned(previous_fields, schema.api_version, previous.time)
        )
    entries.cap_update_managers(managed)
