"""Strategy of VolumeAttachments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.status_writes import keep_metadata
from steersman.apiserver.kinds.storage.volumeattachment.validation import (
    validate_attachment,
    validate_attachment_status,
    validate_attachment_update,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class VolumeAttachmentStrategy(Strategy):
    """Strategy of VolumeAttachments."""

    group_resource = "volumeattachments.storage.k8s.io"
    allow_unconditional_update = False
    returns_deleted_object = True
    metadata_checks_on_update = (0, 1)
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    columns = (
        columns.NAME_COLUMN,
        Column("Attacher", format="name", field="storage.v1.VolumeAttachmentSpec.attacher"),
        Column("PV", field="storage.v1.VolumeAttachmentSource.persistentVolumeName"),
        Column("Node", field="storage.v1.VolumeAttachmentSpec.nodeName"),
        Column("Attached", type="boolean", field="storage.v1.VolumeAttachmentStatus.attached"),
        columns.AGE_COLUMN,
    )

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_attachment(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_attachment_update(obj, old))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_attachment_status(obj))

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
