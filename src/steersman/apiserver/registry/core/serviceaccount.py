"""ServiceAccounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.registry.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.registry.strategy import Strategy

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apiserver.registry.strategy import Tree


class ServiceAccountStrategy(Strategy):
    """Names of secrets to pull images with; tokens are made by a subresource."""

    group_resource = "serviceaccounts"
    metadata_checks_on_update = (1, 1)
    returns_deleted_object = True
    reset_fields: ClassVar = {}
    columns = (NAME_COLUMN, AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), age(obj, now)]
