"""PodDisruptionBudgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class PodDisruptionBudgetStrategy(Strategy):
    """No defaults; a change needs the resourceVersion it is based on."""

    group_resource = "poddisruptionbudgets.policy"
    has_generation = True
    allow_unconditional_update = False
    columns = (
        columns.NAME_COLUMN,
        Column("Min Available"),
        Column("Max Unavailable"),
        Column("Allowed Disruptions", type="integer"),
        columns.AGE_COLUMN,
    )

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        return [
            columns.name_of(obj),
            _limit(spec.get("minAvailable")),
            _limit(spec.get("maxUnavailable")),
            status.get("disruptionsAllowed", 0),
            columns.age(obj, now),
        ]


def _limit(value: int | str | None) -> str:
    return "N/A" if value is None else str(value)
