"""Strategy of PriorityClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.errors import forbidden
from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.validation import check_supported, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_HIGHEST_FOR_USERS: Final = 1_000_000_000
#: Prefix of Kubernetes' own classes.
_SYSTEM: Final = "system-"
_SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityClassStrategy(Strategy):
    """Strategy of PriorityClasses. The generation stays 1, as the fields it follows are immutable."""

    group_resource = "priorityclasses.scheduling.k8s.io"
    has_generation = True
    columns = (
        columns.NAME_COLUMN,
        Column("Value", type="integer", field="scheduling.v1.PriorityClass.value"),
        Column("Global-Default", type="boolean", field="scheduling.v1.PriorityClass.globalDefault"),
        columns.AGE_COLUMN,
        Column("PreemptionPolicy", field="scheduling.v1.PriorityClass.preemptionPolicy"),
    )

    def default(self, obj: Tree, version: str) -> None:
        if obj.get("preemptionPolicy") is None:
            obj["preemptionPolicy"] = "PreemptLowerPriority"

    def generation_view(self, obj: Tree) -> Any:
        return None

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        errors = []
        if obj.get("value", 0) != old.get("value", 0):
            errors.append(field.forbidden("value", "may not be changed in an update."))
        policy, before = obj.get("preemptionPolicy"), old.get("preemptionPolicy")
        return [*errors, *check_unchanged(policy, before, Path("preemptionPolicy"))]

    def check_graceful_delete(self, ctx: RequestContext, obj: Tree) -> None:
        name = obj["metadata"]["name"]
        if name in _SYSTEM_CLASSES:
            raise forbidden(self.group_resource, name, "this is a system priority class and cannot be deleted")

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [
            columns.name_of(obj),
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            columns.age(obj, now),
            obj.get("preemptionPolicy") or "",
        ]


def _validate(obj: Tree) -> Iterator[FieldError]:
    name, value = obj["metadata"].get("name") or "", obj.get("value", 0)
    if name.startswith(_SYSTEM):
        fault = _system_fault(name, value, is_default=bool(obj.get("globalDefault")))
        if fault:
            detail = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {fault}"
            yield field.forbidden("metadata.name", detail)
    elif value > _HIGHEST_FOR_USERS:
        yield field.forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST_FOR_USERS}")
    policy = obj.get("preemptionPolicy")
    if policy is not None:
        yield from check_supported(policy, ("PreemptLowerPriority", "Never"), Path("preemptionPolicy"))


def _system_fault(name: str, value: int, *, is_default: bool) -> str:
    """Return why an object is not the known system class of this name; empty if it is."""
    system_class = _SYSTEM_CLASSES.get(name)
    if system_class is None:
        return f"{name} is not a known system priority class"
    if value != system_class:
        return f"value of {name} PriorityClass must be {system_class}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""
