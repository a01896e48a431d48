"""Server-side apply."""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import errors
from steersman.apimachinery.managedfields import entries, lastapplied
from steersman.apimachinery.managedfields.conflicts import OwnershipError
from steersman.apimachinery.managedfields.entries import APPLY, UPDATE, Managed, Owned, Owner, owner_of
from steersman.apimachinery.managedfields.equality import equal_exactly
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError
from steersman.apimachinery.managedfields.merge import merge_objects
from steersman.apimachinery.managedfields.ownership import (
    ResetFields,
    filter_of,
    ownable,
    prune,
    reconcile_all,
    settle,
)
from steersman.apimachinery.managedfields.schema import Schema, Versions
from steersman.apimachinery.managedfields.shapes import is_strict, root_shape
from steersman.apimachinery.managedfields.unchanged import repeats
from steersman.apimachinery.managedfields.updating import take_over
from steersman.apimachinery.managedfields.validate import faults_of, faults_text
from steersman.apimachinery.trees import Tree, copy_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.managedfields.fieldset import Filter, Node
    from steersman.apimachinery.typemodel import Struct

#: Owns the fields that an object had when it was first applied to. Upstream: ``before-first-apply``.
BEFORE_FIRST_APPLY: Final = "before-first-apply"


def apply(
    live: Tree | None,
    config: Tree,
    *,
    struct: Struct,
    kind: str,
    manager: str,
    force: bool,
    api_version: str,
    time: str,
    defaulter: Callable[[Tree], Tree],
    subresource: str = "",
    reset_fields: ResetFields = (),
    versions: Versions | None = None,
) -> Tree:
    """Return the object that results from applying ``config`` to ``live``, managedFields included.

    ``live`` is None if the object does not exist. ``defaulter`` receives the merged object, which is new, and
    returns it decoded (nulls dropped, quantities canonical, write-only fields folded in) and defaulted; it is not
    called if the apply changes nothing. The other parameters are those of ``update``.

    Raises StatusError: 400 for a config of another kind or version, or with managedFields; 409 if others own
    changed fields and ``force`` is off; 500, as upstream, for a config that does not match the type.
    """
    _check_kind(config, api_version, kind)
    owner = owner_of(manager, APPLY, api_version, subresource)
    if live is not None and _repeats_last(live, config, owner, struct, api_version):
        obj = _copy(live)
        if manager == lastapplied.KUBECTL:
            lastapplied.keep_up(obj, config)
        return obj
    schema = Schema(struct, api_version, versions)
    reset = filter_of(reset_fields)
    managed = entries.read(None if live is None else live["metadata"].get("managedFields"))
    if live is not None:
        live = _without_managed_fields(live)
        if not managed:
            first = owner_of(BEFORE_FIRST_APPLY, UPDATE, api_version, subresource)
            _take_over_all(live, managed, owner=first, schema=schema, time=time, reset=reset)
    fields = _applied_fields(config, struct, reset)
    last = managed.get(owner)
    change = _Change(live, config, fields, managed, owner, schema, reset)
    obj, managed = change.as_kubectl(force=force) if manager == lastapplied.KUBECTL else change.merge(force=force)
    if live is not None and _is_equal(live, obj, struct):
        time = "" if last is None else last.time
    else:
        obj = defaulter(obj)
    _record(obj, managed, owner, fields=ownable(fields), last=last, api_version=api_version, time=time)
    if manager == lastapplied.KUBECTL:
        lastapplied.keep_up(obj, config)
    return obj


def _repeats_last(live: Tree, config: Tree, owner: Owner, struct: Struct, api_version: str) -> bool:
    """Report whether the owner repeats its last apply, and the live object still has all of its values."""
    owners = entries.read(live["metadata"].get("managedFields"))
    last = owners.get(owner)
    if last is None or any(owned.api_version != api_version for owned in owners.values()):
        return False
    return repeats(config, live, last.fields, struct)


def _copy(live: Tree) -> Tree:
    """Copy the object; its owners are values and may be shared."""
    obj: Tree = copy_tree(_without_managed_fields(live))
    obj["metadata"]["managedFields"] = live["metadata"]["managedFields"]
    return obj


def _record(
    obj: Tree, managed: Managed, owner: Owner, *, fields: Node, last: Owned | None, api_version: str, time: str
) -> None:
    """Write the owners into the object."""
    managed.pop(owner, None)
    if fields:
        now = Owned(fields, api_version, time)
        managed[owner] = last if last is not None and last[:3] == now[:3] else now
    metadata = obj.setdefault("metadata", {})
    metadata.pop("managedFields", None)
    if managed:
        metadata["managedFields"] = entries.write(managed)


def _check_kind(config: Tree, api_version: str, kind: str) -> None:
    """Raise StatusError (400) if the config is of another kind or version."""
    given_version, given_kind = config.get("apiVersion") or "", config.get("kind") or ""
    if given_version == api_version and given_kind == kind:
        return
    group, _, version = str(given_version).rpartition("/")
    if "/" in group:
        group = version = given_kind = ""
    raise errors.bad_request(f"invalid object type: {group}/{version}, Kind={given_kind}")


def _take_over_all(
    live: Tree, managed: Managed, *, owner: Owner, schema: Schema, time: str, reset: Filter | None
) -> None:
    """Make ``owner`` the owner of all fields of the object."""
    try:
        take_over(None, live, managed, owner=owner, schema=schema, time=time, reset=reset)
    except UnkeyedItemError as error:
        raise errors.plain_error(f"failed to create manager for existing fields: {error}") from None


def _applied_fields(config: Tree, struct: Struct, reset: Filter | None) -> Node:
    """Return the fields of the config after validating it against the type. Raises StatusError."""
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise errors.bad_request("metadata.managedFields must be nil")
    faults = faults_of(config, struct)
    if faults:
        raise errors.plain_error(f"failed to create typed patch object ({object_title(config)}): {faults_text(faults)}")
    fields = root_shape(struct).below(config)
    return fields if reset is None else reset(fields)


def object_title(config: Tree) -> str:
    """Format ``namespace/name; group/version, Kind=Kind`` without missing parts."""
    metadata = config.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    group, _, version = config["apiVersion"].rpartition("/")
    place = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    return f"{place}; {group}/{version}, Kind={config['kind']}"


def _without_managed_fields(obj: Tree) -> Tree:
    metadata = obj["metadata"]
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _is_equal(left: Any, right: Any, struct: Struct) -> bool:
    return bool((eq if is_strict(struct) else equal_exactly)(left, right))


@dataclass(frozen=True, slots=True)
class _Change:
    """One apply, which may be attempted twice."""

    live: Tree | None
    config: Tree
    fields: Node
    managed: Managed
    owner: Owner
    schema: Schema
    reset: Filter | None

    def merge(self, *, force: bool) -> tuple[Tree, Managed]:
        """Return the merged object and its owners. Raises StatusError for conflicts."""
        try:
            return self._merge(force=force)
        except OwnershipError as error:
            raise error.status() from None

    def as_kubectl(self, *, force: bool) -> tuple[Tree, Managed]:
        """Merge; conflicts on fields that kubectl applied client-side are ignored."""
        try:
            return self._merge(force=force)
        except OwnershipError as error:
            rest = lastapplied.conflicts_of_others(error.conflicts, self.live or {}, self.schema)
            if rest:
                raise OwnershipError(rest).status() from None
        return self._merge(force=True)

    def _merge(self, *, force: bool) -> tuple[Tree, Managed]:
        if self.live is None:
            return copy_tree(self.config), {}
        schema, owner = self.schema, self.owner
        managed = dict(self.managed)
        try:
            reconcile_all(managed, schema)
            last = managed.get(owner)
            managed[owner] = Owned(self.fields, schema.api_version, "")
            merged = merge_objects(self.live, self.config, root_shape(schema.struct))
            new = prune(merged, managed, own=owner, last=last, schema=schema)
            settle(self.live, new, managed, schema=schema, reset=self.reset, own=owner, force=force)
        except UnkeyedItemError as error:
            raise errors.plain_error(f"failed to create typed live object: {error}") from None
        return new, managed
