"""Strategy of LimitRanges. Validation is in ``kinds/shared/quota_validation.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds.shared.podspec.resources import round_resource_list
from steersman.apiserver.kinds.shared.quota_validation import validate_limit_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


class LimitRangeStrategy(Strategy):
    """Strategy of LimitRanges; defaults container limits from ``max`` and container requests from limits or ``min``."""

    group_resource = "limitranges"
    metadata_checks_on_update = (0, 1)
    allow_create_on_update = True
    reset_fields: ClassVar = {}

    def default(self, obj: Tree, version: str) -> None:
        for item in (obj.get("spec") or {}).get("limits") or ():
            for name in _LISTS:
                if item.get(name):
                    round_resource_list(item[name])
            if item.get("type") == "Container":
                _default_container_limit(item)

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        """Do nothing: there are no server-owned fields."""

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Do nothing: there are no server-owned fields."""

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_limit_range(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_limit_range(obj)


def _default_container_limit(item: Tree) -> None:
    """Default ``default`` from ``max``, and ``defaultRequest`` from ``default``, else from ``min``, of a Container
    limit.
    """
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    if default:
        item["default"] = default
    if request:
        item["defaultRequest"] = request
