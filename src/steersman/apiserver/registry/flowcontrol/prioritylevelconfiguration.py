"""PriorityLevelConfigurations: how much of the server a kind of request may take (KEP-1040)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class PriorityLevelConfigurationStrategy(Strategy):
    """Exempt levels lend nothing and have no shares unless they say so; limited ones have 30."""

    group_resource = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
    has_generation = True
    columns = (
        columns.NAME_COLUMN,
        Column("Type"),
        Column("NominalConcurrencyShares"),
        Column("Queues"),
        Column("HandSize"),
        Column("QueueLengthLimit"),
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

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        part = spec.get("limited") or spec.get("exempt") or {}
        queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing") or {}
        shares = part.get("nominalConcurrencyShares")
        return [
            columns.name_of(obj),
            spec.get("type", ""),
            columns.NONE if shares is None else shares,
            *(queuing.get(name) or columns.NONE for name in ("queues", "handSize", "queueLengthLimit")),
            columns.age(obj, now),
        ]
