"""Leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class LeaseStrategy(Strategy):
    """Who holds what, and since when; a change needs the resourceVersion it is based on."""

    group_resource = "leases.coordination.k8s.io"
    allow_create_on_update = True
    allow_unconditional_update = False
    columns = (columns.NAME_COLUMN, Column("Holder"), columns.AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        holder = (obj.get("spec") or {}).get("holderIdentity")
        return [columns.name_of(obj), holder or "", columns.age(obj, now)]
