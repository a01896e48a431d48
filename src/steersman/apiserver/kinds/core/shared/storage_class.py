"""Deprecated annotation ``volume.beta.kubernetes.io/storage-class`` of PersistentVolumes and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def class_annotation_warnings(obj: Tree) -> Iterator[str]:
    """Yield a warning if the object has the annotation."""
    if CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}):
        yield (
            f'metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use "storageClassName" attribute instead'
        )
