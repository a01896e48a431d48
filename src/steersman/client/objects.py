"""Metadata accessors for any object, a typed struct or a plain tree."""

from __future__ import annotations

from typing import Any


def metadata_field(obj: Any, name: str) -> Any:
    """Return a field of the object's metadata; None without the field or metadata."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else getattr(obj, "metadata", None)
    # A caller's struct may declare metadata as a dict.
    return metadata.get(name) if isinstance(metadata, dict) else getattr(metadata, name, None)


def name_of(obj: Any) -> str:
    """Return ``metadata.name``, or an empty string."""
    return metadata_field(obj, "name") or ""


def namespace_of(obj: Any) -> str:
    """Return ``metadata.namespace``; empty for cluster-scoped objects."""
    return metadata_field(obj, "namespace") or ""


def uid_of(obj: Any) -> str:
    """Return ``metadata.uid``, or an empty string."""
    return metadata_field(obj, "uid") or ""


def resource_version_of(obj: Any) -> str:
    """Return ``metadata.resourceVersion``, or an empty string."""
    return metadata_field(obj, "resourceVersion") or ""


def labels_of(obj: Any) -> dict[str, str]:
    """Return ``metadata.labels``, or an empty dict. Must not be modified."""
    return metadata_field(obj, "labels") or {}


def annotations_of(obj: Any) -> dict[str, str]:
    """Return ``metadata.annotations``, or an empty dict. Must not be modified."""
    return metadata_field(obj, "annotations") or {}


def key_of(obj: Any) -> str:
    """Return ``namespace/name``, or ``name`` of a cluster-scoped object. Upstream: ``MetaNamespaceKeyFunc``."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else getattr(obj, "metadata", None)
    if isinstance(metadata, dict):
        namespace, name = metadata.get("namespace"), metadata.get("name") or ""
    else:
        namespace, name = getattr(metadata, "namespace", None), getattr(metadata, "name", None) or ""
    return f"{namespace}/{name}" if namespace else name


def split_key(key: str) -> tuple[str, str]:
    """Return the namespace (may be empty) and name of a key. Raises ValueError. Upstream: ``SplitMetaNamespaceKey``."""
    namespace, slash, name = key.rpartition("/")
    if not name or "/" in namespace or (slash and not namespace):
        raise ValueError(f"unexpected key format: {key!r}")
    return namespace, name


def compare_versions(first: str, second: str) -> int | None:
    """Compare two resource versions: negative, zero or positive as ``first`` is older, equal or newer; None if not comparable.

    Since 1.35 (KEP-5504) resource versions are increasing decimal integers. Other values are only compared for
    equality.
    """
    if first == second:
        return 0
    if not (first.isascii() and first.isdigit() and second.isascii() and second.isdigit()):
        return None
    return int(first) - int(second) or 0
