"""Strategy of Roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.kinds.rbac.shared.base_strategy import RBACStrategy
from steersman.apiserver.kinds.rbac.shared.escalation_checks import check_role
from steersman.apiserver.kinds.rbac.shared.rules import validate_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class RoleStrategy(RBACStrategy):
    """Strategy of Roles."""

    group_resource = "roles.rbac.authorization.k8s.io"
    check_grant = staticmethod(check_role)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_rules(obj.get("rules"), namespaced=True))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return self.validate(ctx, obj)
