"""Decision about a StorageVersion when API servers are deleted. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steersman.runtime.conditions import with_condition

if TYPE_CHECKING:
    from collections.abc import Container

    from steersman.apimachinery.trees import Tree


#: Leases of API servers, by this label and value.
IDENTITY: Final = ("apiserver.kubernetes.io/identity", "kube-apiserver")
_EQUAL: Final = "AllEncodingVersionsEqual"


@dataclass(frozen=True, slots=True)
class Keep:
    """No action: every server exists."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object: none of its servers exists."""


@dataclass(frozen=True, slots=True)
class Write:
    """Write the object with the status of existing servers."""

    obj: Tree


def servers(obj: Tree) -> set[str]:
    """Return the ids of the API servers with entries."""
    return {entry["apiServerID"] for entry in (obj.get("status") or {}).get("storageVersions") or ()}


def decide(obj: Tree, living: Container[str], *, now: str) -> Keep | Delete | Write:
    """Return the action. ``living``: ids of API servers, the names of their Leases."""
    status = obj.get("status") or {}
    listed = status.get("storageVersions") or []
    remaining = [entry for entry in listed if entry.get("apiServerID") in living]
    if len(remaining) == len(listed):
        return Keep()
    if not remaining:
        return Delete()
    encodings = {entry.get("encodingVersion") for entry in remaining}
    common = encodings.pop() if len(encodings) == 1 else None
    word = "set" if common else "unset"
    condition = {
        "type": _EQUAL,
        "status": "True" if common else "False",
        "reason": f"CommonEncodingVersion{word.capitalize()}",
        "message": f"Common encoding version {word}",
        "observedGeneration": (obj.get("metadata") or {}).get("generation", 0),
    }
    new = {
        **status,
        "storageVersions": remaining,
        "conditions": with_condition(status.get("conditions"), condition, now=now),
    }
    if common:
        new["commonEncodingVersion"] = common
    else:
        new.pop("commonEncodingVersion", None)
    return Write({**obj, "status": new})
