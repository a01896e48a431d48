"""Strategy of VolumeAttributesClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.storage.shared.classes import check_parameters, check_provisioner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

#: Upstream: ``pkg/apis/storage/util/helpers.go``, ``AlphaIsDefaultVolumeAttributesClassAnnotation``.
_DEFAULT_CLASS: Final = "volumeattributesclass.alpha.kubernetes.io/is-default-class"


class VolumeAttributesClassStrategy(Strategy):
    """Strategy of VolumeAttributesClasses. The admission plugin StorageObjectInUseProtection adds the finalizer."""

    group_resource = "volumeattributesclasses.storage.k8s.io"
    returns_deleted_object = True
    metadata_checks_on_update = (1, 1)
    columns = (
        columns.NAME_COLUMN,
        Column("DriverName", field="storage.v1.VolumeAttributesClass.driverName"),
        columns.AGE_COLUMN,
    )

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return [
            *check_provisioner(obj.get("driverName") or "", Path("driverName")),
            *check_parameters(obj.get("parameters"), Path("parameters"), may_be_empty=False),
        ]

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        changed = [name for name in ("driverName", "parameters") if (obj.get(name) or None) != (old.get(name) or None)]
        return [
            *(field.forbidden(name, f"updates to {name} are forbidden.") for name in changed),
            *self.validate(ctx, obj),
        ]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        annotations = obj["metadata"].get("annotations") or {}
        suffix = " (default)" if annotations.get(_DEFAULT_CLASS) == "true" else ""
        return [columns.name_of(obj) + suffix, obj.get("driverName", ""), columns.age(obj, now)]
