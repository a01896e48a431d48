"""Controller of aggregated ClusterRoles: any change of a ClusterRole concerns those that select it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.rbac_v1 import ClusterRole

from steersman.client.changes import Updated
from steersman.controllers.clusterroleaggregation.plan import affected, aggregated_rules, is_up_to_date
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from lightkube.models.rbac_v1 import PolicyRule

    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext


class ClusterRoleAggregationController(ManagedController):
    """Reconciles aggregating roles by name."""

    name: ClassVar[str] = "clusterrole-aggregation-controller"
    queue_name: ClassVar[str] = "ClusterRoleAggregator"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=5)
        self._roles = self.informer(ClusterRole)
        self._roles.add_index("aggregating", _aggregating)
        self._roles.add_callback(self._changed)

    def _changed(self, change: Change[ClusterRole]) -> None:
        states = [change.old, change.new] if isinstance(change, Updated) else [change.latest]
        for name in affected(states, self._roles.lister.by_index("aggregating", "")):
            self.queue.add(name)

    async def reconcile(self, key: str) -> None:
        """Write the rules, as the owner of that field."""
        role = self._roles.lister.get(key)
        if role is None or role.aggregationRule is None:
            return
        rules = aggregated_rules(role, self._roles.lister)
        if is_up_to_date(role, rules):
            return
        written = await self._apply(key, rules or None)
        if not is_up_to_date(written, rules):
            # An absent field would keep the stored rules: an empty list must be sent.
            written = await self._apply(key, [])
        self.own_writes.note(key, self._roles, written)

    async def _apply(self, name: str, rules: list[PolicyRule] | None) -> ClusterRole:
        cluster_role = ClusterRole(metadata=ObjectMeta(name=name), rules=rules)
        return await self.client.apply(cluster_role, field_manager=self.name, force=True)


def _aggregating(role: ClusterRole) -> tuple[str, ...]:
    return () if role.aggregationRule is None else ("",)


def build(context: ControllerContext) -> ClusterRoleAggregationController:
    """Construct the controller."""
    return ClusterRoleAggregationController(context)
