"""CSINodes: which storage drivers a node has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class CSINodeStrategy(Strategy):
    """No defaults."""

    group_resource = "csinodes.storage.k8s.io"
    returns_deleted_object = True
    columns = (columns.NAME_COLUMN, Column("Drivers", type="integer"), columns.AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        drivers = (obj.get("spec") or {}).get("drivers") or ()
        return [columns.name_of(obj), len(drivers), columns.age(obj, now)]
