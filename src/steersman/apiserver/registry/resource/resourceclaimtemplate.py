"""ResourceClaimTemplates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.resource.requests import default_claim_spec
from steersman.apiserver.registry.strategy import Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class ResourceClaimTemplateStrategy(Strategy):
    """What the claims of a pod are made of."""

    group_resource = "resourceclaimtemplates.resource.k8s.io"
    columns = (columns.NAME_COLUMN, columns.AGE_COLUMN)

    def default(self, obj: Tree, version: str) -> None:
        default_claim_spec((obj.get("spec") or {}).get("spec"))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), columns.age(obj, now)]
