"""Strategy of PersistentVolumeClaims."""

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
from steersman.apiserver.kinds.core.persistentvolumeclaim.validation import (
    validate_claim,
    validate_claim_status,
    validate_claim_update,
)
from steersman.apiserver.kinds.core.persistentvolumeclaim.warnings import claim_warnings
from steersman.apiserver.kinds.shared.podspec.resources import round_resource_list
from steersman.apiserver.kinds.shared.podspec.volumes import default_claim_spec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class PersistentVolumeClaimStrategy(Strategy):
    """Strategy of PersistentVolumeClaims; of a bound claim's spec only ``resources.requests`` may grow."""

    group_resource = "persistentvolumeclaims"
    metadata_checks_on_update = (1, 1)
    returns_deleted_object = True
    columns = (
        NAME_COLUMN,
        Column("Status", field="core.v1.PersistentVolumeClaimStatus.phase"),
        Column("Volume", field="core.v1.PersistentVolumeClaimSpec.volumeName"),
        Column("Capacity", field="core.v1.PersistentVolumeClaimStatus.capacity"),
        Column("Access Modes", field="core.v1.PersistentVolumeClaimStatus.accessModes"),
        Column("StorageClass", description="StorageClass of the pvc"),
        Column("VolumeAttributesClass", description="VolumeAttributesClass of the pvc"),
        AGE_COLUMN,
        Column("VolumeMode", priority=1, field="core.v1.PersistentVolumeClaimSpec.volumeMode"),
    )

    def default(self, obj: Tree, version: str) -> None:
        default_claim_spec(obj.setdefault("spec", {}))
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"
        for name in ("capacity", "allocatedResources"):
            if status.get(name):
                round_resource_list(status[name])

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        obj["status"] = {"phase": "Pending"}
        normalize_data_sources(obj["spec"], None)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        normalize_data_sources(obj["spec"], old["spec"])

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_claim(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_claim_update(obj, old)

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_claim_status(obj)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(claim_warnings(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        capacity = modes = ""
        volume = spec.get("volumeName", "")
        if volume:
            modes = access_modes_text(status.get("accessModes"))
            capacity = (status.get("capacity") or {}).get("storage", "0")
        return [
            name_of(obj),
            "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", ""),
            volume,
            capacity,
            modes,
            storage_class_of(obj),
            spec.get("volumeAttributesClassName", UNSET),
            age(obj, now),
            spec.get("volumeMode") or UNSET,
        ]


def normalize_data_sources(spec: Tree, old: Tree | None) -> None:
    """Make ``dataSource`` and ``dataSourceRef`` equal unless the reference names another namespace (KEP-1495).

    References into another namespace are dropped unless the old spec has one (``CrossNamespaceVolumeDataSource`` is
    off), as are ``dataSource`` values other than claims and snapshots.
    """
    if old is None or old.get("dataSourceRef") is None:
        if (spec.get("dataSourceRef") or {}).get("namespace"):
            del spec["dataSourceRef"]
        is_new = (old or {}).get("dataSource") is None
        if is_new and spec.get("dataSourceRef") is None and not _is_claim_or_snapshot(spec.get("dataSource") or {}):
            spec.pop("dataSource", None)
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and ref is None:
        spec["dataSourceRef"] = dict(source)
    elif ref is not None and source is None and not ref.get("namespace"):
        spec["dataSource"] = {key: value for key, value in ref.items() if key in ("apiGroup", "kind", "name")}


def _is_claim_or_snapshot(source: Tree) -> bool:
    return (source.get("apiGroup") or "", source.get("kind")) in (
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    )
