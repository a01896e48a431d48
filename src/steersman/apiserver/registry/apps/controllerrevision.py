"""ControllerRevisions: what a workload's template looked like, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class ControllerRevisionStrategy(Strategy):
    """No defaults; the data never changes, only the number may."""

    group_resource = "controllerrevisions.apps"
    columns = (columns.NAME_COLUMN, Column("Controller"), Column("Revision"), columns.AGE_COLUMN)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), _controller(obj), obj.get("revision", 0), columns.age(obj, now)]


def _controller(obj: Tree) -> str:
    """The owner that controls it, as ``daemonset.apps/log``."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = owner["kind"].lower()
            return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
    return columns.NONE
