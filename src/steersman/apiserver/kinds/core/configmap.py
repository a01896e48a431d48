"""Strategy of ConfigMaps. Validation is in ``kinds/shared/config_validation.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.config_validation import validate_config_map, validate_frozen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class ConfigMapStrategy(Strategy):
    """Strategy of ConfigMaps: no status; ``immutable`` forbids any later change of the data."""

    group_resource = "configmaps"
    metadata_checks_on_update = (1, 1)
    reset_fields: ClassVar = {}
    columns = (NAME_COLUMN, Column("Data", field="core.v1.ConfigMap.data"), AGE_COLUMN)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_config_map(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return [*validate_frozen(obj, old, "data", "binaryData"), *validate_config_map(obj)]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)]
