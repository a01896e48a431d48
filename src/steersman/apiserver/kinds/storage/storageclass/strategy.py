"""Strategy of StorageClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.storage.storageclass.validation import (
    storage_class_warnings,
    validate_storage_class,
    validate_storage_class_update,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class StorageClassStrategy(Strategy):
    """Strategy of StorageClasses. Defaults: reclaim policy Delete, binding mode Immediate."""

    group_resource = "storageclasses.storage.k8s.io"
    returns_deleted_object = True
    metadata_checks_on_update = (1, 1)
    columns = (
        columns.NAME_COLUMN,
        Column("Provisioner", field="storage.v1.StorageClass.provisioner"),
        Column("ReclaimPolicy", field="storage.v1.StorageClass.reclaimPolicy"),
        Column("VolumeBindingMode", field="storage.v1.StorageClass.volumeBindingMode"),
        Column("AllowVolumeExpansion", field="storage.v1.StorageClass.allowVolumeExpansion"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        if obj.get("reclaimPolicy") is None:
            obj["reclaimPolicy"] = "Delete"
        if obj.get("volumeBindingMode") is None:
            obj["volumeBindingMode"] = "Immediate"

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_storage_class(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_storage_class_update(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(storage_class_warnings(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        name = columns.name_of(obj)
        annotations = obj["metadata"].get("annotations") or {}
        if "true" in (annotations.get(key) for key in _DEFAULT_CLASS):
            name += " (default)"
        return [
            name,
            obj.get("provisioner", ""),
            obj.get("reclaimPolicy") or "Delete",
            obj.get("volumeBindingMode") or columns.UNSET,
            bool(obj.get("allowVolumeExpansion")),
            columns.age(obj, now),
        ]


_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
