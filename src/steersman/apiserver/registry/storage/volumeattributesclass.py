"""VolumeAttributesClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class VolumeAttributesClassStrategy(Strategy):
    """No defaults; its protection finalizer comes from admission."""

    group_resource = "volumeattributesclasses.storage.k8s.io"
    returns_deleted_object = True
    columns = (columns.NAME_COLUMN, Column("DriverName"), columns.AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), obj.get("driverName", ""), columns.age(obj, now)]
