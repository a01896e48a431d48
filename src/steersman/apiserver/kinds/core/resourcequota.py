"""Strategy of ResourceQuotas. Validation is in ``kinds/shared/quota_validation.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.podspec.resources import round_resource_list
from steersman.apiserver.kinds.shared.quota_validation import (
    quota_warnings,
    validate_quota,
    validate_quota_status,
    validate_quota_update,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class ResourceQuotaStrategy(Strategy):
    """Strategy of ResourceQuotas. Admission and the resource quota controller write ``/status``."""

    group_resource = "resourcequotas"
    returns_deleted_object = True
    columns = (
        NAME_COLUMN,
        Column(
            "Request", description="Request represents a minimum amount of cpu/memory that a container may consume."
        ),
        Column(
            "Limit",
            description="Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
        ),
        AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        status = obj.get("status") or {}
        for amounts in ((obj.get("spec") or {}).get("hard"), status.get("hard"), status.get("used")):
            if amounts:
                round_resource_list(amounts)

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        obj["status"] = {}

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_quota(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_quota_update(obj, old)

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_quota_status(obj)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return quota_warnings(obj) if old is None else ()

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        requests: list[str] = []
        limits: list[str] = []
        for name in sorted(hard):
            column = limits if name.startswith("limits.") else requests
            column.append(f"{name}: {used.get(name, '0')}/{hard[name]}")
        return [name_of(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]
