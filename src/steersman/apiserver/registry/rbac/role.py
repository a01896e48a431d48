"""Roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import names
from steersman.apiserver.registry.rbac.guarding import check_role
from steersman.apiserver.registry.rbac.rules import validate_rules
from steersman.apiserver.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.authz.escalation import EscalationGuard
    from steersman.apiserver.registry.strategy import Tree
    from steersman.apiserver.request import RequestContext


class RoleStrategy(Strategy):
    """What may be done within one namespace."""

    group_resource = "roles.rbac.authorization.k8s.io"
    allow_create_on_update = True
    metadata_checks_on_update = (1, 1)

    def __init__(self, guard: EscalationGuard | None = None) -> None:
        """``guard`` looks at what a write would grant."""
        self._guard = guard

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        if self._guard is not None:
            check_role(self._guard, ctx, obj, None)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        if self._guard is not None:
            check_role(self._guard, ctx, obj, old)

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_path_segment(name, prefix=prefix)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_rules(obj.get("rules"), namespaced=True))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return self.validate(ctx, obj)
