"""FlowSchemas: which requests go to which priority level (KEP-1040)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class FlowSchemaStrategy(Strategy):
    """Matched in order of its precedence."""

    group_resource = "flowschemas.flowcontrol.apiserver.k8s.io"
    has_generation = True
    columns = (
        columns.NAME_COLUMN,
        Column("PriorityLevel"),
        Column("MatchingPrecedence"),
        Column("DistinguisherMethod"),
        columns.AGE_COLUMN,
        Column("MissingPL"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = 1000

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        conditions = (obj.get("status") or {}).get("conditions") or ()
        dangling = next((c.get("status", "?") for c in conditions if c.get("type") == "Dangling"), "?")
        return [
            columns.name_of(obj),
            (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
            spec.get("matchingPrecedence", 0),
            (spec.get("distinguisherMethod") or {}).get("type") or columns.NONE,
            columns.age(obj, now),
            dangling,
        ]
