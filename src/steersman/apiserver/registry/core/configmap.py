"""ConfigMaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.registry.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.registry.strategy import Column, Strategy

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apiserver.registry.strategy import Tree


class ConfigMapStrategy(Strategy):
    """No status; ``immutable`` freezes the data for good."""

    group_resource = "configmaps"
    reset_fields: ClassVar = {}
    columns = (NAME_COLUMN, Column("Data"), AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)]
