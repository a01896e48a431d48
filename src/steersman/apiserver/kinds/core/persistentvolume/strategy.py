"""Strategy of PersistentVolumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic.columns import (
    AGE_COLUMN,
    NAME_COLUMN,
    UNSET,
    access_modes_text,
    age,
    name_of,
    storage_class_of,
)
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.core.persistentvolume.validation import validate_volume, validate_volume_update
from steersman.apiserver.kinds.core.persistentvolume.warnings import volume_warnings
from steersman.apiserver.kinds.shared.podspec.resources import round_resource_list
from steersman.apiserver.kinds.shared.podspec.volumes import default_persistent_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class PersistentVolumeStrategy(Strategy):
    """Strategy of PersistentVolumes; maintains ``status.lastPhaseTransitionTime``."""

    group_resource = "persistentvolumes"
    metadata_checks_on_update = (0, 2)
    returns_deleted_object = True
    columns = (
        NAME_COLUMN,
        Column("Capacity", field="core.v1.PersistentVolumeSpec.capacity"),
        Column("Access Modes", field="core.v1.PersistentVolumeSpec.accessModes"),
        Column("Reclaim Policy", field="core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy"),
        Column("Status", field="core.v1.PersistentVolumeStatus.phase"),
        Column("Claim", field="core.v1.PersistentVolumeSpec.claimRef"),
        Column("StorageClass", description="StorageClass of the pv"),
        Column("VolumeAttributesClass", description="VolumeAttributesClass of the pv"),
        Column("Reason", field="core.v1.PersistentVolumeStatus.reason"),
        AGE_COLUMN,
        Column("VolumeMode", priority=1, field="core.v1.PersistentVolumeSpec.volumeMode"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        if spec.get("capacity"):
            round_resource_list(spec["capacity"])
        default_persistent_source(spec)

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ")}

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        status, before = obj.setdefault("status", {}), old.get("status") or {}
        if status.get("lastPhaseTransitionTime") not in (None, before.get("lastPhaseTransitionTime")):
            return
        if status.get("phase") != before.get("phase"):
            status["lastPhaseTransitionTime"] = ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        elif before.get("lastPhaseTransitionTime"):
            status["lastPhaseTransitionTime"] = before["lastPhaseTransitionTime"]

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_volume(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return [*validate_volume(obj), *validate_volume_update(obj, old)]

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(volume_warnings(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        claim = spec.get("claimRef")
        return [
            name_of(obj),
            (spec.get("capacity") or {}).get("storage", "0"),
            access_modes_text(spec.get("accessModes")),
            spec.get("persistentVolumeReclaimPolicy", ""),
            "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", ""),
            f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "",
            storage_class_of(obj),
            spec.get("volumeAttributesClassName", UNSET),
            status.get("reason", ""),
            age(obj, now),
            spec.get("volumeMode") or UNSET,
        ]
