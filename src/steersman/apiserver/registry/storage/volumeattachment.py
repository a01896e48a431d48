"""VolumeAttachments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class VolumeAttachmentStrategy(Strategy):
    """No defaults; its status says that it is not attached until its driver says otherwise."""

    group_resource = "volumeattachments.storage.k8s.io"
    returns_deleted_object = True
    columns = (
        columns.NAME_COLUMN,
        Column("Attacher", format="name"),
        Column("PV"),
        Column("Node"),
        Column("Attached", type="boolean"),
        columns.AGE_COLUMN,
    )

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("attacher", ""),
            (spec.get("source") or {}).get("persistentVolumeName") or "",
            spec.get("nodeName", ""),
            bool((obj.get("status") or {}).get("attached")),
            columns.age(obj, now),
        ]
