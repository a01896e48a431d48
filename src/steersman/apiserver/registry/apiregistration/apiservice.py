"""APIServices: who serves a group version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery import names
from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree
from steersman.apiserver.registry.writing import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apiserver.request import RequestContext


class APIServiceStrategy(Strategy):
    """Local ones name no service."""

    group_resource = "apiservices.apiregistration.k8s.io"
    columns = (columns.NAME_COLUMN, Column("Service"), Column("Available"), columns.AGE_COLUMN)

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        """The core group's is named ``v1.``; ``validate`` wants version and group in it."""
        return names.name_is_path_segment(name, prefix=prefix)

    def default(self, obj: Tree, version: str) -> None:
        service = (obj.get("spec") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        """What is served here is available from the first moment."""
        super().prepare_for_create(ctx, obj)
        if (obj.get("spec") or {}).get("service") is None:
            condition = {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": time_text(ctx.now),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
            obj["status"] = {"conditions": [condition]}

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        service = (obj.get("spec") or {}).get("service")
        where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
        return [columns.name_of(obj), where, _available(obj), columns.age(obj, now)]


def _available(obj: Tree) -> str:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Available":
            status: str = condition.get("status", "")
            return status if status == "True" else f"{status} ({condition.get('reason', '')})"
    return "Unknown"
