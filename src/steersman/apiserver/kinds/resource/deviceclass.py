"""Strategy of DeviceClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds.resource.shared.claim_validation import validate_class

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class DeviceClassStrategy(Strategy):
    """Strategy of DeviceClasses."""

    group_resource = "deviceclasses.resource.k8s.io"
    returns_deleted_object = True
    has_generation = True
    is_metered = True
    metadata_checks_on_update = (1, 1)
    columns = (columns.NAME_COLUMN, columns.AGE_COLUMN)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_class(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_class(obj, old))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), columns.age(obj, now)]
