"""Strategy of PodDisruptionBudgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery import names
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.policy.poddisruptionbudget.validation import validate_budget, validate_budget_status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class PodDisruptionBudgetStrategy(Strategy):
    """Strategy of PodDisruptionBudgets. Updates require a resourceVersion."""

    group_resource = "poddisruptionbudgets.policy"
    has_generation = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    metadata_checks_on_update = metadata_checks_on_status_update = (0, 0)
    checks_metadata_last = True
    columns = (
        columns.NAME_COLUMN,
        Column("Min Available", description="The minimum number of pods that must be available."),
        Column("Max Unavailable", description="The maximum number of pods that may be unavailable."),
        Column(
            "Allowed Disruptions",
            type="integer",
            description="Calculated number of pods that may be disrupted at this time.",
        ),
        columns.AGE_COLUMN,
    )

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_path_segment(name, prefix=prefix)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_budget(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_budget(obj, old))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_budget_status(obj))

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
