"""``endpointslice-controller``: watches Services, pods, Nodes and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import Node, Pod, Service
from lightkube.models.discovery_v1 import EndpointSlice

from steersman.client.changes import Deleted, Updated
from steersman.client.errors import ApiError, Conflict
from steersman.client.objects import key_of, labels_of, metadata_field, name_of, namespace_of
from steersman.controllers.endpoints.services import (
    MANAGED_BY,
    TRIGGER_TIME,
    families,
    has_endpoints,
    selects,
    service_keys,
    touched_keys,
)
from steersman.controllers.endpoints.slice_plan import CONTROLLER, plan_slices
from steersman.controllers.endpoints.slice_writing import BY_SERVICE, key_of_slice, of_service, write_slices
from steersman.controllers.endpoints.topology import ZONE, HintedServices, NodeZones
from steersman.controllers.endpoints.trigger import TriggerTimes
from steersman.controllers.shared.base import ManagedController
from steersman.workloads.pods import BY_NODE, node_names, node_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext
    from steersman.controllers.endpoints.topology import Hinting

_DISABLED = "TopologyAwareHintsDisabled"


class EndpointSliceController(ManagedController):
    """Reconciles Services."""

    name: ClassVar[str] = "endpointslice-controller"
    queue_name: ClassVar[str] = "endpoint_slice"
    component: ClassVar[str] = "endpoint-slice-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_service_endpoint_syncs)
        self._times = TriggerTimes()
        self._node_zones = NodeZones()
        self._zone_shares: dict[str, float] | None = None
        self._hinted_services = HintedServices()
        self._services = self.watch(Service)
        self._nodes = self.informer(Node)
        self._pods = self.informer(Pod)
        self._pods.add_index(BY_NODE, node_names)
        self._slices = self.watch(EndpointSlice, keys=key_of_slice, when=_is_ours)
        self._slices.add_index(BY_SERVICE, key_of_slice)
        self._pods.add_callback(self._pod_changed)
        self._nodes.add_callback(self._node_changed)

    def _pod_changed(self, change: Change[Pod]) -> None:
        for key in touched_keys(self._services.lister, change):
            self.queue.add_after(key, self.options.endpointslice_updates_batch_period_seconds)

    def _node_changed(self, change: Change[Node]) -> None:
        """Enqueue the Services with pods on a new Node or a Node with a changed zone, and those that need other hints."""
        self._follow_zones(change)
        if isinstance(change, Deleted):
            return
        if isinstance(change, Updated) and labels_of(change.old).get(ZONE) == labels_of(change.new).get(ZONE):
            return
        for pod in self._pods.lister.by_index(BY_NODE, name_of(change.new)):
            for key in service_keys(self._services.lister, pod):
                self.queue.add(key)

    def _follow_zones(self, change: Change[Node]) -> None:
        if isinstance(change, Deleted):
            self._node_zones.remove(name_of(change.latest))
        elif not self._node_zones.note(change.latest):
            return
        self._zone_shares = self._node_zones.shares()
        for key in self._hinted_services.overloaded(self._zone_shares):
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        """Create, update or delete the slices of a Service."""
        service = self._services.lister.by_key(key)
        if service is None:
            self._times.forget(key)
            self._hinted_services.forget(key)
            return
        if not has_endpoints(service):
            return
        pods = [pod for pod in self._pods.lister.list(namespace=namespace_of(service)) if selects(service, pod)]
        nodes = {name: node for pod in pods if (node := self._nodes.lister.get(name := node_of(pod))) is not None}
        slices = [
            slice_
            for slice_ in of_service(self._slices, key, manager=CONTROLLER)
            if metadata_field(slice_, "deletionTimestamp") is None
        ]
        trigger = self._times.last_change_trigger_time(key, service, pods)
        plan = plan_slices(
            service,
            pods,
            slices,
            nodes,
            max_endpoints=self.options.max_endpoints_per_slice,
            zone_shares=self._zone_shares,
        )
        self._record_hintings(service, plan.hintings)
        try:
            await write_slices(self, key, self._slices, plan.changes, notes={TRIGGER_TIME: trigger})
        except Conflict:
            raise
        except ApiError as error:
            self._record(service, str(error))
            raise
        if plan.skipped:
            many = len(plan.skipped) > 1
            self._record(service, f"[{', '.join(plan.skipped)}]" if many else plan.skipped[0])

    def _record_hintings(self, service: Service, hintings: Mapping[str, Hinting]) -> None:
        """Record the hints of each address family, with events when they are enabled, disabled or impossible."""
        key, event = key_of(service), self.events.event
        if not hintings and key in self._hinted_services:
            text = f"Topology Aware Hints has been disabled, addressType: {families(service)[0]}"
            event(service, "Warning", _DISABLED, text)
            self._hinted_services.forget(key)
        for family, hinting in hintings.items():
            if hinting.zones is None:
                event(service, "Warning", _DISABLED, f"{hinting.reason}, addressType: {family}")
                self._hinted_services.forget(key)
                continue
            if key not in self._hinted_services:
                text = f"Topology Aware Hints has been enabled, addressType: {family}"
                event(service, "Normal", "TopologyAwareHintsEnabled", text)
            self._hinted_services.record(key, family, hinting.zones)

    def _record(self, service: Service, fault: str) -> None:
        text = f"Error updating Endpoint Slices for Service {key_of(service)}: {fault}"
        self.events.event(service, "Warning", "FailedToUpdateEndpointSlices", text)


def _is_ours(change: Change[EndpointSlice]) -> bool:
    versions = [change.latest, change.old] if isinstance(change, Updated) else [change.latest]
    return any(labels_of(slice_).get(MANAGED_BY) == CONTROLLER for slice_ in versions)


def build(context: ControllerContext) -> EndpointSliceController:
    """Construct the controller."""
    return EndpointSliceController(context)
