"""DeviceClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class DeviceClassStrategy(Strategy):
    """Which devices a request may name."""

    group_resource = "deviceclasses.resource.k8s.io"
    has_generation = True
    columns = (columns.NAME_COLUMN, columns.AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), columns.age(obj, now)]
