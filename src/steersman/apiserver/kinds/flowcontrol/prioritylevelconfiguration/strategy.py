"""Strategy of PriorityLevelConfigurations (KEP-1040)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.flowcontrol.flowschema.validation import validate_flow_conditions
from steersman.apiserver.kinds.flowcontrol.prioritylevelconfiguration.validation import validate_priority_level
from steersman.apiserver.kinds.shared.status_writes import keep_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class PriorityLevelConfigurationStrategy(Strategy):
    """Strategy of PriorityLevelConfigurations. Nominal shares default to 0 (Exempt) or 30 (Limited)."""

    group_resource = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
    has_generation = True
    metadata_checks_on_update = (0, 1)
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    columns = (
        columns.NAME_COLUMN,
        Column("Type", field="flowcontrol.v1.PriorityLevelConfigurationSpec.type"),
        Column(
            "NominalConcurrencyShares",
            field="flowcontrol.v1.LimitedPriorityLevelConfiguration.nominalConcurrencyShares",
        ),
        Column("Queues", field="flowcontrol.v1.QueuingConfiguration.queues"),
        Column("HandSize", field="flowcontrol.v1.QueuingConfiguration.handSize"),
        Column("QueueLengthLimit", field="flowcontrol.v1.QueuingConfiguration.queueLengthLimit"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        exempt = spec.get("exempt")
        if exempt is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)
        limited = spec.get("limited")
        if limited is None:
            return
        limited.setdefault("nominalConcurrencyShares", 30)
        limited.setdefault("lendablePercent", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            for name, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
                if not queuing.get(name):
                    queuing[name] = value

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_priority_level(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_priority_level(obj))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_flow_conditions(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        limited = spec.get("limited") or {}
        queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
        shares = limited.get("nominalConcurrencyShares")
        return [
            columns.name_of(obj),
            spec.get("type", ""),
            columns.NONE if shares is None else shares,
            *(queuing.get(name) or columns.NONE for name in ("queues", "handSize", "queueLengthLimit")),
            columns.age(obj, now),
        ]
