"""Strategy of CSINodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.storage.csinode.validation import validate_csi_node, validate_csi_node_update

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class CSINodeStrategy(Strategy):
    """Strategy of CSINodes."""

    group_resource = "csinodes.storage.k8s.io"
    allow_unconditional_update = False
    returns_deleted_object = True
    metadata_checks_on_update = (0, 2)
    columns = (
        columns.NAME_COLUMN,
        Column(
            "Drivers", type="integer", description="Drivers indicates the number of CSI drivers registered on the node"
        ),
        columns.AGE_COLUMN,
    )

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_csi_node(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_csi_node_update(obj, old))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        drivers = (obj.get("spec") or {}).get("drivers") or ()
        return [columns.name_of(obj), len(drivers), columns.age(obj, now)]
