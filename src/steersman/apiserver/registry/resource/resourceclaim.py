"""ResourceClaims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.resource.requests import default_claim_spec
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class ResourceClaimStrategy(Strategy):
    """A wish for devices, allocated and reserved through its status."""

    group_resource = "resourceclaims.resource.k8s.io"
    columns = (columns.NAME_COLUMN, Column("State"), columns.AGE_COLUMN)

    def default(self, obj: Tree, version: str) -> None:
        default_claim_spec(obj.get("spec"))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), _state(obj), columns.age(obj, now)]


def _state(obj: Tree) -> str:
    status = obj.get("status") or {}
    states = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    if status.get("allocation") is None:
        states += [] if states else ["pending"]
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states)
