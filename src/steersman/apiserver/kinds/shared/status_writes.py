"""What a write through ``/status`` leaves alone besides the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: The parts of metadata that a client may otherwise write.
_WRITABLE: Final = ("labels", "annotations", "finalizers", "ownerReferences")


def keep_metadata(obj: Tree, old: Tree) -> None:
    """Put back the metadata of ``old``, for kinds whose status is written alone."""
    metadata, before = obj["metadata"], old["metadata"]
    for name in _WRITABLE:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
