"""RuntimeClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class RuntimeClassStrategy(Strategy):
    """No defaults; a change needs the resourceVersion it is based on."""

    group_resource = "runtimeclasses.node.k8s.io"
    allow_unconditional_update = False
    columns = (columns.NAME_COLUMN, Column("Handler"), columns.AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), obj.get("handler", ""), columns.age(obj, now)]
