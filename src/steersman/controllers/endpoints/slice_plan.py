"""EndpointSlices of a Service. Pure rules of the reconciler of ``k8s.io/endpointslice``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lightkube.models.discovery_v1 import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForNode,
    ForZone,
)
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client.objects import labels_of, metadata_field, name_of, namespace_of, uid_of
from steersman.controllers.endpoints.packing import Changes, endpoints_of, is_owned, pack, ports_key, recycle
from steersman.controllers.endpoints.pods import (
    address_of,
    hostname_of,
    is_deleted,
    may_be_endpoint,
    port_number,
    reference_to,
)
from steersman.controllers.endpoints.services import (
    HEADLESS,
    MANAGED_BY,
    SERVICE_NAME,
    families,
    is_headless,
    slice_name_prefix,
)
from steersman.controllers.endpoints.topology import ZONE, Hinting, hint, is_requested, without_hints
from steersman.runtime.owners import controller_reference
from steersman.workloads.pods import is_ready, node_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightkube.models.core_v1 import Node, Pod, Service

CONTROLLER: Final = "endpointslice-controller.k8s.io"
_RESERVED: Final = (SERVICE_NAME, MANAGED_BY, HEADLESS)
_SAME_ZONE: Final = ("PreferSameZone", "PreferClose")
_SAME_NODE: Final = "PreferSameNode"


@dataclass(slots=True)
class SlicePlan:
    """Writes, pods skipped because their Node is unknown, and topology aware hints by address family."""

    changes: Changes
    skipped: list[str] = field(default_factory=list)
    hintings: dict[str, Hinting] = field(default_factory=dict)


@dataclass(slots=True)
class _Group:
    """Endpoints with the same ports."""

    ports: list[EndpointPort]
    endpoints: list[Endpoint] = field(default_factory=list)


def plan_slices(
    service: Service,
    pods: Sequence[Pod],
    slices: Sequence[EndpointSlice],
    nodes: Mapping[str, Node],
    *,
    max_endpoints: int,
    zone_shares: Mapping[str, float] | None = None,
) -> SlicePlan:
    """Return the writes. ``slices``: those of this controller for the Service that are not being deleted."""
    plan = SlicePlan(Changes())
    address_types = families(service)
    for family in address_types:
        work = _Family(service, family, list(pods), nodes, max_endpoints)
        existing = [slice_ for slice_ in slices if slice_.addressType == family]
        if is_requested(service):
            changes, plan.hintings[family] = _with_topology_aware_hints(work, existing, zone_shares)
        else:
            changes = work.plan(existing)
        plan.changes.add(changes)
        plan.skipped = list(dict.fromkeys([*plan.skipped, *work.skipped]))
    plan.changes.delete += [slice_ for slice_ in slices if slice_.addressType not in address_types]
    if metadata_field(service, "deletionTimestamp") is not None:
        plan.changes.create.clear()
    return plan


def _with_topology_aware_hints(
    work: _Family, existing: list[EndpointSlice], zone_shares: Mapping[str, float] | None
) -> tuple[Changes, Hinting]:
    """Plan without hints, then set the hints of the endpoints in changed slices."""
    changes = work.plan([without_hints(slice_) for slice_ in existing])
    changed = {name_of(slice_) for slice_ in (*changes.update, *changes.delete)}
    unchanged = [slice_ for slice_ in existing if name_of(slice_) not in changed]
    return changes, hint(changes, unchanged, zone_shares)


@dataclass(slots=True)
class _Family:
    """Slices of one address family."""

    service: Service
    family: str
    pods: list[Pod]
    nodes: Mapping[str, Node]
    max_endpoints: int
    skipped: list[str] = field(default_factory=list)

    def plan(self, slices: list[EndpointSlice]) -> Changes:
        """Return the changes from the existing slices."""
        uid = uid_of(self.service)
        changes = Changes(delete=[slice_ for slice_ in slices if not is_owned(slice_, uid)])
        by_ports: dict[object, list[EndpointSlice]] = {}
        for slice_ in slices:
            if is_owned(slice_, uid):
                by_ports.setdefault(ports_key(slice_.ports), []).append(slice_)
        for key, group in self._groups().items():
            changes.add(self._pack(by_ports.pop(key, []), group))
        changes.delete += [slice_ for rest in by_ports.values() for slice_ in rest]
        if len(changes.delete) == len(slices) and not changes.create:
            _keep_one(changes, new_slice(self.service, self.family, [], []))
        return recycle(changes, owner_uid=uid)

    def _pack(self, slices: list[EndpointSlice], group: _Group) -> Changes:
        def make(endpoints: list[Endpoint]) -> EndpointSlice:
            return new_slice(self.service, self.family, group.ports, endpoints)

        labels = slice_labels(self.service)
        return pack(slices, group.endpoints, labels=labels, make=make, max_endpoints=self.max_endpoints)

    def _groups(self) -> dict[object, _Group]:
        groups: dict[object, _Group] = {}
        service = self.service
        publishes = bool(service.spec and service.spec.publishNotReadyAddresses)
        for pod in self.pods:
            if not may_be_endpoint(pod, terminating=True):
                continue
            ports = slice_ports(service, pod)
            group = groups.setdefault(ports_key(ports), _Group(ports))
            node = self.nodes.get(node_of(pod))
            if node is None and not publishes:
                endpoint_text = f"Pod {name_of(pod)} for Service {namespace_of(service)}/{name_of(service)}"
                self.skipped.append(f"skipping {endpoint_text}: Node {node_of(pod)} Not Found")
                continue
            address = address_of(pod, self.family)
            if address:
                group.endpoints.append(endpoint_of(pod, address, service, node))
        return groups


def _keep_one(changes: Changes, empty: EndpointSlice) -> None:
    """Keep or create one empty slice for a Service without endpoints."""
    for slice_ in changes.delete:
        if (
            not endpoints_of(slice_)
            and not slice_.ports
            and labels_of(slice_) == labels_of(empty)
            and _same_owner(slice_, empty)
        ):
            changes.delete.remove(slice_)
            return
    changes.create.append(empty)


def _same_owner(slice_: EndpointSlice, empty: EndpointSlice) -> bool:
    owners = (empty.metadata.ownerReferences if empty.metadata else None) or ()
    return all(is_owned(slice_, owner.uid) for owner in owners)


def slice_ports(service: Service, pod: Pod) -> list[EndpointPort]:
    """Return the Service's ports that the pod has."""
    numbered_ports = [(port, port_number(pod, port)) for port in (service.spec.ports if service.spec else None) or ()]
    return [
        EndpointPort(name=port.name or "", port=number, protocol=port.protocol, appProtocol=port.appProtocol)
        for port, number in numbered_ports
        if number is not None
    ]


def endpoint_of(pod: Pod, address: str, service: Service, node: Node | None) -> Endpoint:
    """Return the endpoint of a pod."""
    serving, terminating = is_ready(pod), is_deleted(pod)
    ready = bool(service.spec and service.spec.publishNotReadyAddresses) or (serving and not terminating)
    zone = labels_of(node).get(ZONE) or None
    return Endpoint(
        addresses=[address],
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        targetRef=reference_to(pod),
        nodeName=node_of(pod) or None,
        zone=zone,
        hostname=hostname_of(pod, service),
        hints=_hints(service, node_of(pod), zone) if ready else None,
    )


def _hints(service: Service, node: str, zone: str | None) -> EndpointHints | None:
    """Return the topology hints of an endpoint (KEP-4444, KEP-3015), without those of the topology annotation."""
    distribution = service.spec.trafficDistribution if service.spec and not is_requested(service) else None
    zones = [ForZone(name=zone)] if zone and distribution in (*_SAME_ZONE, _SAME_NODE) else None
    nodes = [ForNode(name=node)] if node and distribution == _SAME_NODE else None
    return EndpointHints(forZones=zones, forNodes=nodes) if zones or nodes else None


def slice_labels(service: Service) -> dict[str, str]:
    """Return the Service's labels and the controller's own."""
    labels = {key: value for key, value in labels_of(service).items() if key not in _RESERVED}
    if is_headless(service):
        labels[HEADLESS] = ""
    return labels | {SERVICE_NAME: name_of(service), MANAGED_BY: CONTROLLER}


def new_slice(service: Service, family: str, ports: list[EndpointPort], endpoints: list[Endpoint]) -> EndpointSlice:
    """Return a slice to create."""
    owner = controller_reference(service, api_version="v1", kind="Service")
    return EndpointSlice(
        apiVersion="discovery.k8s.io/v1",
        kind="EndpointSlice",
        metadata=ObjectMeta(
            generateName=slice_name_prefix(name_of(service)),
            namespace=namespace_of(service),
            labels=slice_labels(service),
            ownerReferences=[owner.typed()],
        ),
        addressType=family,
        ports=ports or None,
        endpoints=endpoints,
    )
