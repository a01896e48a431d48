"""Base strategy of RoleBindings and ClusterRoleBindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column
from steersman.apiserver.kinds.rbac.shared.base_strategy import RBACStrategy
from steersman.apiserver.kinds.rbac.shared.escalation_checks import check_binding
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.validation import check_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

GROUP: Final = "rbac.authorization.k8s.io"
_ROLE: Final = Path("roleRef")
_SUBJECT_COLUMNS: Final = ("Users", "Groups", "ServiceAccounts")


def binding_columns(kind: str) -> tuple[Column, ...]:
    """Return the columns of RoleBindings or ClusterRoleBindings."""
    word = kind[0].lower() + kind[1:]
    subjects = [Column(name, priority=1, description=f"{name} in the {word}") for name in _SUBJECT_COLUMNS]
    role = Column("Role", field=f"rbac.v1.{kind}.roleRef")
    return (columns.NAME_COLUMN, role, columns.AGE_COLUMN, *subjects)


class BindingStrategy(RBACStrategy):
    """Base strategy of bindings. ``roleRef`` is immutable."""

    check_grant = staticmethod(check_binding)
    #: Namespaced, so that the namespace of ServiceAccount subjects has a default.
    namespaced: ClassVar[bool]
    #: Kinds allowed in ``roleRef``.
    role_kinds: ClassVar[tuple[str, ...]]

    def default(self, obj: Tree, version: str) -> None:
        reference = obj.setdefault("roleRef", {})
        if not reference.get("apiGroup"):
            reference["apiGroup"] = GROUP
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
                subject["apiGroup"] = GROUP

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(self._faults(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        errors = list(self._faults(obj))
        if obj.get("roleRef") != old.get("roleRef"):
            errors.append(field.invalid(_ROLE, go_form("RoleRef", obj.get("roleRef") or {}), "cannot change roleRef"))
        return errors

    def _faults(self, obj: Tree) -> Iterator[FieldError]:
        reference = obj.get("roleRef") or {}
        group, kind, name = (reference.get(part) or "" for part in ("apiGroup", "kind", "name"))
        if group != GROUP:
            yield field.not_supported(_ROLE.child("apiGroup"), group, (GROUP,))
        if kind not in self.role_kinds:
            yield field.not_supported(_ROLE.child("kind"), kind, self.role_kinds)
        if not name:
            yield field.required(_ROLE.child("name"))
        else:
            yield from check_all(_ROLE.child("name"), name, names.check_path_segment(name))
        for position, subject in enumerate(obj.get("subjects") or ()):
            yield from _validate_subject(subject, Path("subjects").index(position), namespaced=self.namespaced)

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


def _validate_subject(subject: Tree, path: Path, *, namespaced: bool) -> Iterator[FieldError]:
    kind, name, group = (subject.get(part) or "" for part in ("kind", "name", "apiGroup"))
    if not name:
        yield field.required(path.child("name"))
    match kind:
        case "ServiceAccount":
            if name:
                yield from check_all(path.child("name"), name, names.check_dns1123_subdomain(name))
            if group:
                yield field.not_supported(path.child("apiGroup"), group, ("",))
            if not namespaced and not subject.get("namespace"):
                yield field.required(path.child("namespace"))
        case "User" | "Group":
            if group != GROUP:
                yield field.not_supported(path.child("apiGroup"), group, (GROUP,))
        case _:
            yield field.not_supported(path.child("kind"), kind, ("ServiceAccount", "User", "Group"))
