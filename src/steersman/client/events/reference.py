"""Object references of events. Upstream: ``k8s.io/client-go/tools/reference``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.client.objects import name_of, namespace_of, resource_version_of, uid_of
from steersman.client.resource_types import typed

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def object_reference(obj: Any, *, field_path: str = "") -> Tree:
    """Return an ``ObjectReference`` to a typed object, or to a tree with apiVersion and kind.

    A tree without metadata is taken as a reference and copied. Raises LookupError for a class without resource,
    ValueError for a tree without kind.
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
    """Return the namespace of an event about ``reference``: ``default`` for cluster-scoped objects."""
    return reference.get("namespace") or "default"
