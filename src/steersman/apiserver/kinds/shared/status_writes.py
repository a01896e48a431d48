"""Metadata handling of writes through ``/status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: Metadata fields that clients may otherwise write.
_WRITABLE: Final = ("labels", "annotations", "finalizers", "ownerReferences")


def keep_metadata(obj: Tree, old: Tree) -> None:
    """Restore the metadata of ``old``, for kinds whose ``/status`` writes only the status."""
    metadata, before = obj["metadata"], old["metadata"]
    for name in _WRITABLE:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
