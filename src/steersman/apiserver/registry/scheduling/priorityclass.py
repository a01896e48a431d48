"""PriorityClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class PriorityClassStrategy(Strategy):
    """Its generation is 1 for ever: what counts in it cannot be changed."""

    group_resource = "priorityclasses.scheduling.k8s.io"
    has_generation = True
    columns = (
        columns.NAME_COLUMN,
        Column("Value", type="integer"),
        Column("Global-Default", type="boolean"),
        columns.AGE_COLUMN,
        Column("PreemptionPolicy"),
    )

    def default(self, obj: Tree, version: str) -> None:
        if obj.get("preemptionPolicy") is None:
            obj["preemptionPolicy"] = "PreemptLowerPriority"

    def generation_view(self, obj: Tree) -> Any:
        return None

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [
            columns.name_of(obj),
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            columns.age(obj, now),
            obj.get("preemptionPolicy") or "",
        ]
