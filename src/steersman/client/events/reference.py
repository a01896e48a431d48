"""What an event is about."""

from __future__ import annotations

from typing import Any

from steersman.client.objects import name_of, namespace_of, resource_version_of, uid_of
from steersman.client.resource_types import typed

Tree = dict[str, Any]


def object_reference(obj: Any, *, field_path: str = "") -> Tree:
    """An ``ObjectReference`` to a typed object, or a tree that tells its kind.

    A tree that is a reference already (it has no metadata) is taken as it is. Raises LookupError for a class that is
    no resource's, ValueError for a tree without a kind.
    """
    if isinstance(obj, dict):
        if "metadata" not in obj and obj.get("kind"):
            return dict(obj)
        api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
        if not (api_version and kind):
            raise ValueError("an event's object must tell its apiVersion and kind")
    else:
        info = typed(type(obj)).info
        api_version, kind = info.api_version, info.kind
    reference = {
        "kind": kind,
        "namespace": namespace_of(obj),
        "name": name_of(obj),
        "uid": uid_of(obj),
        "apiVersion": api_version,
        "resourceVersion": resource_version_of(obj),
        "fieldPath": field_path,
    }
    return {key: value for key, value in reference.items() if value}


def event_namespace(reference: Tree) -> str:
    """Where an event about it lives: events about cluster-scoped objects are in ``default``."""
    return reference.get("namespace") or "default"
