"""``persistentvolumeclaim-protection-controller``: protects claims that a pod uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import PersistentVolumeClaim, Pod

from steersman.client.changes import Deleted, Updated
from steersman.client.objects import namespace_of
from steersman.controllers.protection.finalizing import add, remove_finalizer
from steersman.controllers.protection.plan import CLAIM_FINALIZER, Step, step, uses_claim
from steersman.controllers.shared.base import ManagedController
from steersman.workloads.pod_volumes import claim_keys_of
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext


class PVCProtectionController(ManagedController):
    """Reconciles PersistentVolumeClaims."""

    name: ClassVar[str] = "persistentvolumeclaim-protection-controller"
    queue_name: ClassVar[str] = "pvcprotection"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = self.watch(PersistentVolumeClaim, when=lambda change: not isinstance(change, Deleted))
        self._pods = self.watch(Pod, keys=claim_keys_of, when=_may_release)

    async def reconcile(self, key: str) -> None:
        """Add the finalizer, or remove it from a deleted claim that is not in use."""
        claim = self._claims.lister.by_key(key)
        if claim is None:
            return
        match step(claim, CLAIM_FINALIZER):
            case Step.ADD:
                await add(self, key, self._claims, claim, CLAIM_FINALIZER)
            case Step.RELEASE:
                if not await self._is_used(claim):
                    await remove_finalizer(self, key, self._claims, claim, CLAIM_FINALIZER)
            case Step.NOTHING:
                pass

    async def _is_used(self, claim: PersistentVolumeClaim) -> bool:
        """Report whether a pod uses the claim; a negative is verified with the server, as the cache may be behind."""
        namespace = namespace_of(claim)
        if any(uses_claim(pod, claim) for pod in self._pods.lister.list(namespace=namespace)):
            return True
        live = await self.client.list_all(Pod, namespace=namespace)
        return any(uses_claim(pod, claim) for pod in live)


def _may_release(change: Change[Pod]) -> bool:
    """Report whether a pod was deleted or has finished."""
    if isinstance(change, Updated):
        return is_finished(change.old) != is_finished(change.new)
    return isinstance(change, Deleted)


def build(context: ControllerContext) -> PVCProtectionController:
    """Construct the controller."""
    return PVCProtectionController(context)
