"""Interning of equal metadata: labels and managed fields of many similar objects are stored once.

Pods of one ReplicaSet have the same labels and mostly the same managed fields, which take half of a small object's
memory. Cached objects are immutable by contract, so parts can be shared.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

#: Bound of distinct parts; when exceeded, the table is cleared.
PARTS_MAX: Final = 10_000


class MetadataInterner:
    """Table of distinct metadata parts of one informer."""

    __slots__ = ("_encode", "_parts")

    def __init__(self) -> None:
        self._parts: dict[Any, Any] = {}
        self._encode = msgspec.json.Encoder().encode

    def intern(self, obj: Any) -> None:
        """Replace labels and managed fields by equal ones of earlier objects."""
        metadata = obj.get("metadata") if isinstance(obj, dict) else getattr(obj, "metadata", None)
        if metadata is None:
            return
        if len(self._parts) > PARTS_MAX:
            self._parts.clear()
        if isinstance(metadata, dict):
            self._intern_tree(metadata)
            return
        parts = self._parts
        labels = getattr(metadata, "labels", None)
        if labels:
            metadata.labels = parts.setdefault(tuple(labels.items()), labels)
        for entry in getattr(metadata, "managedFields", None) or ():
            if entry.fieldsV1:
                entry.fieldsV1 = parts.setdefault(self._encode(entry.fieldsV1), entry.fieldsV1)

    def _intern_tree(self, metadata: dict[str, Any]) -> None:
        parts = self._parts
        labels = metadata.get("labels")
        if labels:
            metadata["labels"] = parts.setdefault(tuple(labels.items()), labels)
        for entry in metadata.get("managedFields") or ():
            if entry.get("fieldsV1"):
                entry["fieldsV1"] = parts.setdefault(self._encode(entry["fieldsV1"]), entry["fieldsV1"])


def drop_managed_fields(obj: Any) -> Any:
    """Transform for informers that removes ``managedFields``; accepts structs and trees, with or without metadata."""
    if isinstance(obj, dict):
        obj.get("metadata", {}).pop("managedFields", None)
    elif getattr(getattr(obj, "metadata", None), "managedFields", None) is not None:
        obj.metadata.managedFields = None
    return obj
