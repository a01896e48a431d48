"""Status of CustomResourceDefinitions: accepted names, which are unique in their group, and progress of termination.

Upstream: the naming, approval and finalizing controllers of apiextensions-apiserver.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.crd.definition import condition_is
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.approval import (
    Approval,
    approval_of,
    is_protected,
)
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.conditions import set_condition

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.crd.group_names import OtherNames


_TERMINATING: Final = "Terminating"


def plan_status(definition: Tree, others: OtherNames, *, now: str) -> Tree | None:
    """Return the desired status of a definition; None if unchanged."""
    status: Tree = {**(definition.get("status") or {})}
    accepted, conflict = _accept(definition, others)
    conditions = [dict(c) for c in status.get("conditions") or ()]
    if conflict:
        set_condition(conditions, "NamesAccepted", "False", *conflict, now=now)
    else:
        set_condition(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now=now)
    if not condition_is(definition, "Established", "True"):
        if conflict:
            set_condition(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now=now)
        else:
            message = "the initial names have been accepted"
            set_condition(conditions, "Established", "True", "InitialNamesAccepted", message, now=now)
    if is_protected(definition):
        approval, detail = approval_of(definition)
        approved = "True" if approval is Approval.APPROVED else "False"
        set_condition(conditions, "KubernetesAPIApprovalPolicyConformant", approved, approval.value, detail, now=now)
    new_status = status | {"acceptedNames": accepted, "conditions": conditions}
    return None if new_status == definition.get("status") else new_status


class DeletionProgress(Enum):
    """Progress of a terminating definition, as in its condition ``Terminating``."""

    IN_PROGRESS = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
    COMPLETED = ("False", "InstanceDeletionCompleted", "removed all instances")
    NEVER_ESTABLISHED = ("False", "NeverEstablished", "resource was never established")


def ending_of(definition: Tree) -> DeletionProgress | None:
    """Return the progress; None before the first one."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    reasons = {c.get("reason") for c in conditions if c.get("type") == _TERMINATING}
    return next((ending for ending in DeletionProgress if ending.value[1] in reasons), None)


def with_ending(definition: Tree, ending: DeletionProgress, *, now: str) -> Tree:
    """Return the status of a definition with this progress."""
    status: Tree = {**(definition.get("status") or {})}
    conditions = [dict(c) for c in status.get("conditions") or ()]
    set_condition(conditions, _TERMINATING, *ending.value, now=now)
    return status | {"conditions": conditions}


def _accept(definition: Tree, others: OtherNames) -> tuple[Tree, tuple[str, str] | None]:
    """Return the accepted names, and reason and message of the last conflict. Accepted names stay accepted."""
    spec_names = definition["spec"]["names"]
    accepted: Tree = {**((definition.get("status") or {}).get("acceptedNames") or {"plural": "", "kind": ""})}
    conflict: tuple[str, str] | None = None
    for field in ("plural", "singular", "shortNames", "kind", "listKind"):
        is_taken = others.has_kind if field in ("kind", "listKind") else others.has_resource
        requested, current = (_names(source.get(field)) for source in (spec_names, accepted))
        conflicts = [f"{quote(name)} is already in use" for name in requested if name not in current and is_taken(name)]
        if conflicts:
            message = conflicts[0] if len(conflicts) == 1 else f"[{', '.join(conflicts)}]"
            conflict = f"{field[0].upper()}{field[1:]}Conflict", message
        elif field == "shortNames":
            _put(accepted, field, requested)
        elif requested:
            accepted[field] = requested[0]
    _put(accepted, "categories", spec_names.get("categories") or [])
    return accepted, conflict


def _names(value: str | list[str] | None) -> list[str]:
    return [value] if value and isinstance(value, str) else list(value or ())


def _put(names: Tree, field: str, values: list[str]) -> None:
    if values:
        names[field] = list(values)
    else:
        names.pop(field, None)
