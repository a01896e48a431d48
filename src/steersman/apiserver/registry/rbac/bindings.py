"""What RoleBindings and ClusterRoleBindings have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.field import Path
from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.request import RequestContext

GROUP: Final = "rbac.authorization.k8s.io"


class BindingStrategy(Strategy):
    """Who may do what a role allows. The role it refers to never changes."""

    allow_create_on_update = True
    columns = (
        columns.NAME_COLUMN,
        Column("Role"),
        columns.AGE_COLUMN,
        Column("Users", priority=1),
        Column("Groups", priority=1),
        Column("ServiceAccounts", priority=1),
    )

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_path_segment(name, prefix=prefix)

    def default(self, obj: Tree, version: str) -> None:
        reference = obj.setdefault("roleRef", {})
        if not reference.get("apiGroup"):
            reference["apiGroup"] = GROUP
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
                subject["apiGroup"] = GROUP

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        if obj.get("roleRef") != old.get("roleRef"):
            return [field.invalid(Path("roleRef"), obj.get("roleRef"), "cannot change roleRef")]
        return ()

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        reference = obj.get("roleRef") or {}
        subjects = obj.get("subjects") or ()
        accounts = [
            f"{s.get('namespace', '')}/{s.get('name', '')}" if s.get("namespace") else s.get("name", "")
            for s in subjects
            if s.get("kind") == "ServiceAccount"
        ]
        return [
            columns.name_of(obj),
            f"{reference.get('kind', '')}/{reference.get('name', '')}",
            columns.age(obj, now),
            ", ".join(s.get("name", "") for s in subjects if s.get("kind") == "User"),
            ", ".join(s.get("name", "") for s in subjects if s.get("kind") == "Group"),
            ", ".join(accounts),
        ]
