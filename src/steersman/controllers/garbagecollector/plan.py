"""Decision about one object that may be garbage. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from steersman.client.objects import metadata_field, namespace_of, resource_version_of, uid_of
from steersman.controllers.garbagecollector.graph import FOREGROUND, ORPHAN, Identity, ObservedObject
from steersman.runtime.owners import owners_of, without_owner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.client.requests import PropagationPolicy
    from steersman.client.resource_types import ResourceType
    from steersman.runtime.owners import Owner


OwnerState = Literal["solid", "dangling", "waiting"]
SOLID: Final = "solid"
DANGLING: Final = "dangling"
WAITING: Final = "waiting"
#: Mutable metadata fields of ``observed_object``.
_RELATIONS: Final = ("ownerReferences", "finalizers", "deletionTimestamp")


@dataclass(frozen=True, slots=True)
class Keep:
    """No action."""


@dataclass(frozen=True, slots=True)
class Release:
    """An owner exists; remove the references to these UIDs."""

    uids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """No owner exists."""

    policy: PropagationPolicy
    #: Remove ``blockOwnerDeletion`` from its references first: it is part of a cycle that would deadlock.
    unblock: bool = False


def decide(
    obj: Any, owner_states: Iterable[tuple[Owner, OwnerState]], *, dependents: int, in_cycle: bool
) -> Keep | Release | Delete:
    """Return the decision. ``owner_states``: state of each owner; ``in_cycle``: a dependent waits in foreground too."""
    listed = list(owner_states)
    by_state = {group: [owner.uid for owner, state in listed if state == group] for group in (DANGLING, WAITING)}
    if not listed:
        return Keep()
    if len(by_state[DANGLING]) + len(by_state[WAITING]) < len(listed):
        # A reference to an owner that waits must go, too: else that owner would wait for an object that stays.
        dangling_or_waiting = (*by_state[DANGLING], *by_state[WAITING])
        return Release(dangling_or_waiting) if dangling_or_waiting else Keep()
    if by_state[WAITING] and dependents:
        return Delete("Foreground", unblock=in_cycle)
    finalizers = metadata_field(obj, "finalizers") or ()
    if ORPHAN in finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in finalizers else "Background")


def state_of(owner: Any) -> OwnerState:
    """Return the state of an existing owner."""
    waits = metadata_field(owner, "deletionTimestamp") is not None and FOREGROUND in (
        metadata_field(owner, "finalizers") or ()
    )
    return WAITING if waits else SOLID


def release_patch(obj: Any, uids: Iterable[str], *, strategic: bool) -> Tree:
    """Return the patch that removes references. A merge patch replaces the whole list, so it is valid for one version only."""
    if strategic:
        references: list[Tree] = [{"$patch": "delete", "uid": uid} for uid in uids]
        return {"metadata": {"uid": uid_of(obj), "ownerReferences": references}}
    remaining = owners_of(obj)
    for uid in uids:
        remaining = without_owner(remaining, uid)
    return _versioned(obj, {"ownerReferences": [owner.tree() for owner in remaining]})


def unblock_patch(obj: Any, *, strategic: bool) -> Tree:
    """Return the patch that removes ``blockOwnerDeletion`` from all references."""
    owners = [owner for owner in owners_of(obj) if owner.block_owner_deletion]
    if strategic:
        references = [{"uid": owner.uid, "blockOwnerDeletion": False} for owner in owners]
        return {"metadata": {"uid": uid_of(obj), "ownerReferences": references}}
    trees = [msgspec.structs.replace(owner, block_owner_deletion=False).tree() for owner in owners_of(obj)]
    return _versioned(obj, {"ownerReferences": trees})


def finalizer_patch(obj: Any, finalizer: str) -> Tree | None:
    """Return the patch that removes a finalizer; None if absent."""
    finalizers = metadata_field(obj, "finalizers") or []
    if finalizer not in finalizers:
        return None
    return _versioned(obj, {"finalizers": [name for name in finalizers if name != finalizer]})


def owner_candidates(owner: Owner, namespace: str) -> tuple[Identity, Identity]:
    """Return the identities that an owner may have while its scope is unknown: cluster-scoped or namespaced."""
    identity = Identity(owner.api_version, owner.kind, namespace, owner.name, owner.uid)
    return identity._replace(namespace=""), identity


def observed_object(resource: ResourceType[Any], obj: Any) -> ObservedObject:
    """Return the graph's view of an object."""
    info = resource.info
    name, uid = metadata_field(obj, "name") or "", uid_of(obj)
    return ObservedObject(
        Identity(info.api_version, info.kind, namespace_of(obj), name, uid),
        owners=tuple(owners_of(obj)) if metadata_field(obj, "ownerReferences") else (),
        finalizers=tuple(metadata_field(obj, "finalizers") or ()),
        being_deleted=metadata_field(obj, "deletionTimestamp") is not None,
    )


def has_same_relations(old: Any, new: Any) -> bool:
    """Report whether ``observed_object`` is equal for two versions of an object."""
    return all(metadata_field(old, name) == metadata_field(new, name) for name in _RELATIONS)


def _versioned(obj: Any, metadata: Tree) -> Tree:
    return {"metadata": {"uid": uid_of(obj), "resourceVersion": resource_version_of(obj), **metadata}}
