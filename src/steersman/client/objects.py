"""The few things that must be known of any object, whether it is a typed struct or a plain tree."""

from __future__ import annotations

from typing import Any


def metadata_field(obj: Any, name: str) -> Any:
    """A field of the object's metadata; None where there is none, or no metadata at all."""
    if isinstance(obj, dict):
        metadata = obj.get("metadata")
        return metadata.get(name) if isinstance(metadata, dict) else None
    metadata = getattr(obj, "metadata", None)
    if isinstance(metadata, dict):  # a struct of the caller's own may leave metadata plain
        return metadata.get(name)
    return getattr(metadata, name, None)


def name_of(obj: Any) -> str:
    """``metadata.name``, or an empty text."""
    return metadata_field(obj, "name") or ""


def namespace_of(obj: Any) -> str:
    """``metadata.namespace``; empty for cluster-scoped objects."""
    return metadata_field(obj, "namespace") or ""


def uid_of(obj: Any) -> str:
    """``metadata.uid``, or an empty text."""
    return metadata_field(obj, "uid") or ""


def resource_version_of(obj: Any) -> str:
    """``metadata.resourceVersion``, or an empty text."""
    return metadata_field(obj, "resourceVersion") or ""


def labels_of(obj: Any) -> dict[str, str]:
    """``metadata.labels``; empty where there are none. Not to be changed."""
    return metadata_field(obj, "labels") or {}


def annotations_of(obj: Any) -> dict[str, str]:
    """``metadata.annotations``; empty where there are none. Not to be changed."""
    return metadata_field(obj, "annotations") or {}


def key_of(obj: Any) -> str:
    """``namespace/name``, or ``name`` of a cluster-scoped object (client-go's ``MetaNamespaceKeyFunc``)."""
    namespace, name = namespace_of(obj), name_of(obj)
    return f"{namespace}/{name}" if namespace else name


def split_key(key: str) -> tuple[str, str]:
    """Namespace (may be empty) and name of a key. Raises ValueError."""
    namespace, slash, name = key.rpartition("/")
    if not name or "/" in namespace or (slash and not namespace):
        raise ValueError(f"unexpected key format: {key!r}")
    return namespace, name


def compare_versions(first: str, second: str) -> int | None:
    """Negative, zero or positive as ``first`` is older than, equal to or newer than ``second``; None: not comparable.

    Kubernetes says since 1.35 (KEP-5504) that versions are whole numbers that grow; what other servers answer with may
    be anything, and is then only compared for equality.
    """
    if first == second:
        return 0
    if not (first.isascii() and first.isdigit() and second.isascii() and second.isdigit()):
        return None
    return int(first) - int(second) or 0
