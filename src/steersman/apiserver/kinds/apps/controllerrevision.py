"""Strategy of ControllerRevisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.validation import check_not_negative, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_DATA: Final = Path("data")


class ControllerRevisionStrategy(Strategy):
    """Strategy of ControllerRevisions: the data is immutable, the revision number is not."""

    group_resource = "controllerrevisions.apps"
    metadata_checks_on_update = (1, 1)
    columns = (
        columns.NAME_COLUMN,
        Column("Controller", description="Controller of the object"),
        Column("Revision", field="apps.v1.ControllerRevision.revision"),
        columns.AGE_COLUMN,
    )

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        errors = list(check_not_negative(obj.get("revision"), Path("revision")))
        data = obj.get("data")
        if data is None:
            errors.append(field.required(_DATA, "data is mandatory"))
        elif not isinstance(data, dict):
            errors.append(field.required(_DATA, "data must be a valid JSON object"))
        return errors

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return [
            *check_not_negative(obj.get("revision"), Path("revision")),
            *check_unchanged(obj.get("data"), old.get("data"), _DATA),
        ]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), _controller(obj), obj.get("revision", 0), columns.age(obj, now)]


def _controller(obj: Tree) -> str:
    """Return the controller owner as ``daemonset.apps/log``."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = owner["kind"].lower()
            return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
    return columns.NONE
