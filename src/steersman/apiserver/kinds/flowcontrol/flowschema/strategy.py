"""Strategy of FlowSchemas (KEP-1040)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.flowcontrol.flowschema.validation import (
    validate_flow_conditions,
    validate_flow_schema,
)
from steersman.apiserver.kinds.shared.status_writes import keep_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class FlowSchemaStrategy(Strategy):
    """Strategy of FlowSchemas."""

    group_resource = "flowschemas.flowcontrol.apiserver.k8s.io"
    has_generation = True
    metadata_checks_on_update = (0, 1)
    sorts_rows = True
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    columns = (
        columns.NAME_COLUMN,
        Column("PriorityLevel", field="flowcontrol.v1.PriorityLevelConfigurationReference.name"),
        Column("MatchingPrecedence", field="flowcontrol.v1.FlowSchemaSpec.matchingPrecedence"),
        Column("DistinguisherMethod", field="flowcontrol.v1.FlowSchemaSpec.distinguisherMethod"),
        columns.AGE_COLUMN,
        Column("MissingPL", description="references a broken or non-existent PriorityLevelConfiguration"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = 1000

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_flow_schema(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_flow_schema(obj))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_flow_conditions(obj))

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

    def row_sort_key(self, obj: Tree) -> tuple[int, str]:
        """Sort by precedence, then name. Upstream: ``FlowSchemaSequence``."""
        return (obj.get("spec") or {}).get("matchingPrecedence", 0), columns.name_of(obj)
