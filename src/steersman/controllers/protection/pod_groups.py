"""``podgroup-protection-controller``: protects groups with pods that may still run.

Admission adds the finalizer; this controller only removes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import Pod
from lightkube.models.scheduling_v1alpha2 import PodGroup

from steersman.client import custom
from steersman.client.changes import Deleted
from steersman.controllers.protection.finalizing import remove_finalizer
from steersman.controllers.protection.plan import GROUP_FINALIZER, Step, groups_used, step
from steersman.controllers.shared.base import ManagedController
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from steersman.client import ResourceType
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

#: Alpha and off by default in 1.36: served only with ``--runtime-config``.
GROUPS: Final[ResourceType[PodGroup]] = custom(
    "scheduling.k8s.io/v1alpha2", "PodGroup", plural="podgroups", model=PodGroup
)
_BY_GROUP: Final = "pod group in use"


class PodGroupProtectionController(ManagedController):
    """Reconciles PodGroups."""

    name: ClassVar[str] = "podgroup-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._groups = self.watch(GROUPS, when=lambda change: not isinstance(change, Deleted))
        self._pods = self.watch(Pod, keys=groups_used, when=_may_release)
        self._pods.add_index(_BY_GROUP, groups_used)

    async def reconcile(self, key: str) -> None:
        """Remove the finalizer of a deleted group that is not in use."""
        group = self._groups.lister.by_key(key)
        if group is None or step(group, GROUP_FINALIZER) is not Step.RELEASE:
            return
        if not self._pods.lister.by_index(_BY_GROUP, key):
            await remove_finalizer(self, key, self._groups, group, GROUP_FINALIZER)


def _may_release(change: Change[Pod]) -> bool:
    """Report whether a pod was deleted or has finished."""
    return isinstance(change, Deleted) or is_finished(change.new)


def build(context: ControllerContext) -> PodGroupProtectionController:
    """Construct the controller."""
    return PodGroupProtectionController(context)
