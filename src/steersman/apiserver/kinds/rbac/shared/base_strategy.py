"""Base strategy of the four RBAC kinds: path segments as names, and escalation checks of writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steersman.apimachinery import names
from steersman.apiserver.generic.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.escalation import EscalationGuard
    from steersman.apiserver.request import RequestContext

    Check = staticmethod[[EscalationGuard, RequestContext, Tree, Tree | None], None]


class RBACStrategy(Strategy):
    """Base strategy of roles and bindings. ``check_grant`` is ``check_role`` or ``check_binding`` of ``guarding``."""

    allow_create_on_update = True
    metadata_checks_on_update = (1, 1)
    validation_depends_on_user = True
    check_grant: ClassVar[Check]

    def __init__(self, guard: EscalationGuard | None = None) -> None:
        """``guard``: authorizes the rules that a write would grant."""
        self._guard = guard

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        if self._guard is not None:
            self.check_grant(self._guard, ctx, obj, None)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        if self._guard is not None:
            self.check_grant(self._guard, ctx, obj, old)

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_path_segment(name, prefix=prefix)
