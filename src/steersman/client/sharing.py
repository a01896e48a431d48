"""Less memory for many objects that are alike: what is equal in their metadata is kept once.

Pods of one ReplicaSet have the same labels and, but for a few, the same field ownership, which is half of a small object's
memory. Objects of a cache are not to be changed, so parts may belong to many.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

#: Distinct parts that are remembered. With more of them all are forgotten, and kept once from then on.
PARTS_MAX: Final = 10_000


class Sharing:
    """Of one informer."""

    __slots__ = ("_encode", "_parts")

    def __init__(self) -> None:
        self._parts: dict[Any, Any] = {}
        self._encode = msgspec.json.Encoder().encode

    def share(self, obj: Any) -> None:
        """Replace labels and field ownership by equal ones that were met before."""
        metadata = obj.get("metadata") if isinstance(obj, dict) else getattr(obj, "metadata", None)
        if metadata is None:
            return
        if len(self._parts) > PARTS_MAX:
            self._parts.clear()
        if isinstance(metadata, dict):
            self._share_tree(metadata)
            return
        parts = self._parts
        labels = getattr(metadata, "labels", None)
        if labels:
            metadata.labels = parts.setdefault(tuple(labels.items()), labels)
        for entry in getattr(metadata, "managedFields", None) or ():
            if entry.fieldsV1:
                entry.fieldsV1 = parts.setdefault(self._encode(entry.fieldsV1), entry.fieldsV1)

    def _share_tree(self, metadata: dict[str, Any]) -> None:
        parts = self._parts
        labels = metadata.get("labels")
        if labels:
            metadata["labels"] = parts.setdefault(tuple(labels.items()), labels)
        for entry in metadata.get("managedFields") or ():
            if entry.get("fieldsV1"):
                entry["fieldsV1"] = parts.setdefault(self._encode(entry["fieldsV1"]), entry["fieldsV1"])


def drop_managed_fields(obj: Any) -> Any:
    """A transform for informers whose users do not ask who owns a field; of objects of any form, parts of some among them."""
    if isinstance(obj, dict):
        obj.get("metadata", {}).pop("managedFields", None)
    elif getattr(getattr(obj, "metadata", None), "managedFields", None) is not None:
        obj.metadata.managedFields = None
    return obj
