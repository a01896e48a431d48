"""``endpointslice-mirroring-controller``: watches Endpoints, the Services of their names, and the mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import Endpoints, Service
from lightkube.models.discovery_v1 import EndpointSlice

from steersman.client.changes import Updated
from steersman.client.objects import key_of, labels_of
from steersman.controllers.endpoints.mirror_plan import CONTROLLER, is_mirrored, plan_mirror
from steersman.controllers.endpoints.packing import Changes
from steersman.controllers.endpoints.services import MANAGED_BY
from steersman.controllers.endpoints.slice_writing import BY_SERVICE, key_of_slice, of_service, write_slices
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext


class EndpointSliceMirroringController(ManagedController):
    """Reconciles Endpoints; keys are also those of their Services."""

    name: ClassVar[str] = "endpointslice-mirroring-controller"
    queue_name: ClassVar[str] = "endpoint_slice_mirroring"
    component: ClassVar[str] = "endpoint-slice-mirroring-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.mirroring_concurrent_service_endpoint_syncs)
        self._endpoints = self.informer(Endpoints)
        self._endpoints.add_callback(self._endpoints_changed)
        self._services = self.watch(Service)
        self._slices = self.watch(EndpointSlice, keys=key_of_slice, when=_is_ours)
        self._slices.add_index(BY_SERVICE, key_of_slice)

    def _endpoints_changed(self, change: Change[Endpoints]) -> None:
        period_seconds = self.options.mirroring_endpointslice_updates_batch_period_seconds
        self.queue.add_after(key_of(change.latest), period_seconds)

    async def reconcile(self, key: str) -> None:
        """Mirror the Endpoints in slices, or delete the slices."""
        endpoints = self._endpoints.lister.by_key(key)
        slices = of_service(self._slices, key, manager=CONTROLLER)
        if endpoints is None or not is_mirrored(endpoints, self._services.lister.by_key(key)):
            await write_slices(self, key, self._slices, Changes(delete=slices), notes={})
            return
        bound = self.options.mirroring_max_endpoints_per_subset
        plan = plan_mirror(endpoints, slices, max_per_subset=bound)
        if plan.invalid:
            text = f"Skipped {plan.invalid} invalid IP addresses when mirroring to EndpointSlices"
            self.events.event(endpoints, "Warning", "InvalidIPAddress", text)
        if plan.skipped > plan.invalid:
            text = (
                f"A max of {bound} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                f"{plan.skipped} addresses were skipped"
            )
            self.events.event(endpoints, "Warning", "TooManyAddressesToMirror", text)
        await write_slices(self, key, self._slices, plan.changes, notes={})


def _is_ours(change: Change[EndpointSlice]) -> bool:
    versions = [change.latest, change.old] if isinstance(change, Updated) else [change.latest]
    return any(labels_of(slice_).get(MANAGED_BY) == CONTROLLER for slice_ in versions)


def build(context: ControllerContext) -> EndpointSliceMirroringController:
    """Construct the controller."""
    return EndpointSliceMirroringController(context)
