"""Controller of ServiceCIDRs: conditions and finalizers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.client.objects import key_of
from steersman.controlplane.bootstrap.cluster_ip_repair import ADDRESSES, CIDRS
from steersman.controlplane.bootstrap.service_cidrs import DEFAULT_NAME, FINALIZER, MANAGER, plan_service_cidr
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.controlplane.bootstrap.service_cidrs import CIDRPlan
    from steersman.runtime.context import ControllerContext


#: Field manager of the finalizer in upstream, where a controller of kube-controller-manager sets it.
_FINALIZER_MANAGER: Final = "kube-controller-manager"

#: Delay for the creator's further writes, which have the resourceVersion as precondition; the range is usable.
SETTLE_SECONDS: Final = 1.0


class ServiceCIDRController(Controller):
    """Reconciles ServiceCIDRs."""

    name: ClassVar[str] = "service-cidr-controller"

    def __init__(
        self, context: ControllerContext, *, own: Sequence[str], make_default: Callable[[], Awaitable[None]]
    ) -> None:
        """Create the controller; ``own`` are the server's ranges, ``make_default`` creates their ServiceCIDR."""
        super().__init__(context)
        self._own = list(own)
        self._make_default = make_default
        self._cidrs = self.informer(CIDRS)
        self._cidrs.add_callback(self._changed)
        self._addresses = self.informer(ADDRESSES)
        self._addresses.add_callback(
            lambda change: self._enqueue_terminating() if isinstance(change, Deleted) else None
        )

    async def reconcile(self, key: str) -> Result | None:
        """Decide by the cache; a finalizer is removed only after the server confirms the decision."""
        cidr = self._cidrs.lister.by_key(key)
        if key == DEFAULT_NAME:
            await self._keep_default(cidr)
        if cidr is None:
            return None
        plan = plan_service_cidr(cidr, [*self._cidrs.lister], self._addresses.lister, now=self.clock.now())
        if plan.remove_finalizer:
            cidrs = await self.client.list(CIDRS)
            addresses = await self.client.list_all(ADDRESSES)
            plan = plan_service_cidr(cidr, cidrs, addresses, now=self.clock.now())
        with suppress(NotFound):  # the last write removed the finalizer; the cache is stale
            await self._apply(cidr, plan)
        return None if plan.again_seconds is None else Result(requeue_after_seconds=plan.again_seconds)

    async def _apply(self, cidr: Tree, plan: CIDRPlan) -> None:
        metadata = cidr["metadata"]
        finalizers = list(metadata.get("finalizers") or ())
        if plan.add_finalizer or plan.remove_finalizer:
            desired = (
                [*finalizers, FINALIZER]
                if plan.add_finalizer
                else [finalizer for finalizer in finalizers if finalizer != FINALIZER]
            )
            patch = {"metadata": {"finalizers": desired or None, "resourceVersion": metadata["resourceVersion"]}}
            written = await self.client.patch(CIDRS, metadata["name"], patch, field_manager=_FINALIZER_MANAGER)
            if plan.add_finalizer:
                self.own_writes.note(key_of(cidr), self._cidrs, written)
        if plan.condition is not None:
            status = {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "ServiceCIDR",
                "metadata": {"name": metadata["name"]},
                "status": {"conditions": [plan.condition]},
            }
            written = await self.client.apply(status, field_manager=MANAGER, force=True, subresource="status")
            self.own_writes.note(key_of(cidr), self._cidrs, written)

    async def _keep_default(self, cidr: Tree | None) -> None:
        """Create the default ServiceCIDR, so that existing addresses stay within a range."""
        await self._make_default()
        cidrs = ((cidr or {}).get("spec") or {}).get("cidrs")
        if cidr is not None and cidrs != self._own:
            stored, own = " ".join(cidrs or ()), " ".join(self._own)
            note = f"The default ServiceCIDR [{stored}] does not match the flag configurations [{own}]"
            self.recorder.event(cidr, "Warning", "KubernetesDefaultServiceCIDRInconsistent", note)

    def _changed(self, change: Change[Tree]) -> None:
        """Enqueue a changed ServiceCIDR."""
        metadata, key = change.latest["metadata"], key_of(change.latest)
        if isinstance(change, Deleted) or metadata.get("deletionTimestamp") or key == DEFAULT_NAME:
            self.queue.add(key)
        else:
            self.queue.add_after(key, SETTLE_SECONDS)
        self._enqueue_terminating()

    def _enqueue_terminating(self) -> None:
        """Enqueue terminating ServiceCIDRs, which the change of another object may unblock."""
        for cidr in self._cidrs.lister:
            if cidr["metadata"].get("deletionTimestamp"):
                self.queue.add(key_of(cidr))
