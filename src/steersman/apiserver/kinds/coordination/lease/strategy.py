"""Strategy of Leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.coordination.lease.validation import validate_lease

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


#: Fields of coordinated leader election.
_COORDINATION: Final = ("strategy", "preferredHolder")


class LeaseStrategy(Strategy):
    """Strategy of Leases. Updates require a resourceVersion.

    Upstream: ``pkg/registry/coordination/lease/strategy.go``
    """

    group_resource = "leases.coordination.k8s.io"
    allow_create_on_update = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    columns = (
        columns.NAME_COLUMN,
        Column("Holder", field="coordination.v1.LeaseSpec.holderIdentity"),
        columns.AGE_COLUMN,
    )

    def __init__(self, *, has_coordination: bool = True) -> None:
        """``has_coordination``: the feature gate CoordinatedLeaderElection; without it new fields of it are dropped."""
        self._has_coordination: Final = has_coordination

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        self._drop_coordination(obj, {})

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        self._drop_coordination(obj, old.get("spec") or {})

    def _drop_coordination(self, obj: Tree, old_spec: Tree) -> None:
        spec = obj.get("spec") or {}
        if not self._has_coordination:
            for name in _COORDINATION:
                if name not in old_spec:
                    spec.pop(name, None)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_lease(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_lease(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        holder = (obj.get("spec") or {}).get("holderIdentity")
        return [columns.name_of(obj), holder or "", columns.age(obj, now)]
