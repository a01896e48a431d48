"""Strategy of Leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.coordination.lease.validation import validate_lease

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class LeaseStrategy(Strategy):
    """Strategy of Leases. Updates require a resourceVersion."""

    group_resource = "leases.coordination.k8s.io"
    allow_create_on_update = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    columns = (
        columns.NAME_COLUMN,
        Column("Holder", field="coordination.v1.LeaseSpec.holderIdentity"),
        columns.AGE_COLUMN,
    )

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_lease(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_lease(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        holder = (obj.get("spec") or {}).get("holderIdentity")
        return [columns.name_of(obj), holder or "", columns.age(obj, now)]
