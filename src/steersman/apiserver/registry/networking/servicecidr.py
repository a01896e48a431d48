"""ServiceCIDRs: ranges that service addresses are taken from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class ServiceCIDRStrategy(Strategy):
    """One range a family."""

    group_resource = "servicecidrs.networking.k8s.io"
    columns = (columns.NAME_COLUMN, Column("CIDRs"), columns.AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        cidrs = (obj.get("spec") or {}).get("cidrs") or ()
        return [columns.name_of(obj), ",".join(cidrs), columns.age(obj, now)]
