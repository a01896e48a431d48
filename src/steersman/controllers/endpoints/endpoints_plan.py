"""Endpoints object of a Service. Pure rules of ``pkg/controller/endpoint``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lightkube.models.core_v1 import EndpointAddress, EndpointPort, Endpoints, EndpointSubset
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client.objects import annotations_of, labels_of, name_of, namespace_of
from steersman.controllers.endpoints.pods import (
    address_of,
    hostname_of,
    may_be_endpoint,
    port_number,
    reference_to,
)
from steersman.controllers.endpoints.services import HEADLESS, TRIGGER_TIME, families, is_headless, may_lack_ports
from steersman.controllers.endpoints.subsets import repacked
from steersman.runtime.structs import replaced, with_metadata
from steersman.workloads.pods import is_ready, node_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import Pod, Service

#: Maximum number of addresses in an Endpoints object.
CAPACITY: Final = 1000
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_TRUNCATED: Final = "truncated"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_CONTROLLER: Final = "endpoint-controller"


def plan_endpoints(
    service: Service, pods: Iterable[Pod], current: Endpoints | None, trigger: str | None
) -> Endpoints | None:
    """Return the desired Endpoints; None if up to date. Without resourceVersion the object must be created.

    ``trigger``: time of the triggering change; written only together with another change.
    """
    subsets, truncated = _truncated(repacked(_subsets(service, pods)))
    labels = dict(labels_of(service))
    labels.pop(HEADLESS, None)
    if is_headless(service):
        labels[HEADLESS] = ""
    labels[_MANAGED_BY] = _CONTROLLER
    wanted_subsets = subsets or None
    if current is None:
        metadata = ObjectMeta(name=name_of(service), namespace=namespace_of(service))
        current = Endpoints(apiVersion="v1", kind="Endpoints", metadata=metadata)
    else:
        marked = annotations_of(current).get(OVER_CAPACITY) == _TRUNCATED
        same = _comparable(current.subsets) == _comparable(wanted_subsets) and marked is truncated
        if same and labels_of(current) == labels:
            return None
    notes = {key: value for key, value in annotations_of(current).items() if key not in (TRIGGER_TIME, OVER_CAPACITY)}
    if trigger is not None:
        notes[TRIGGER_TIME] = trigger
    if truncated:
        notes[OVER_CAPACITY] = _TRUNCATED
    return with_metadata(replaced(current, subsets=wanted_subsets), labels=labels, annotations=notes or None)


def _subsets(service: Service, pods: Iterable[Pod]) -> list[EndpointSubset]:
    """Return one subset for each pod and port."""
    publishes = bool(service.spec and service.spec.publishNotReadyAddresses)
    subsets: list[EndpointSubset] = []
    for pod in pods:
        ip = address_of(pod, families(service)[0]) if may_be_endpoint(pod, terminating=publishes) else ""
        if not ip:
            continue
        address = EndpointAddress(
            ip=ip, nodeName=node_of(pod) or None, hostname=hostname_of(pod, service), targetRef=reference_to(pod)
        )
        ready = publishes or is_ready(pod)
        for ports in _ports(service, pod):
            place = {"addresses": [address]} if ready else {"notReadyAddresses": [address]}
            subsets.append(EndpointSubset(ports=ports, **place))
    return subsets


def _ports(service: Service, pod: Pod) -> list[list[EndpointPort] | None]:
    ports = (service.spec.ports if service.spec else None) or ()
    if not ports:
        return [None] if may_lack_ports(service) else []
    numbered_ports = [(port, port_number(pod, port)) for port in ports]
    return [
        [EndpointPort(name=port.name or None, port=number, protocol=port.protocol, appProtocol=port.appProtocol)]
        for port, number in numbered_ports
        if number is not None
    ]


def _truncated(subsets: list[EndpointSubset]) -> tuple[list[EndpointSubset], bool]:
    """Return at most ``CAPACITY`` addresses, ready ones first, proportionally by subset; and whether any was dropped."""
    ready = sum(len(subset.addresses or ()) for subset in subsets)
    unready = sum(len(subset.notReadyAddresses or ()) for subset in subsets)
    if ready + unready <= CAPACITY:
        return subsets, False
    cuts_ready = ready > CAPACITY
    room = CAPACITY if cuts_ready else CAPACITY - ready
    total = ready if cuts_ready else unready
    remaining = room
    cut: list[EndpointSubset] = []
    for subset in subsets:
        listed = (subset.addresses if cuts_ready else subset.notReadyAddresses) or []
        share = min(remaining, -(-len(listed) * room // total))
        remaining -= min(share, len(listed))
        truncated = listed[:share] or None
        fields = {"addresses": truncated, "notReadyAddresses": None} if cuts_ready else {"notReadyAddresses": truncated}
        cut.append(replaced(subset, **fields))
    return [subset for subset in cut if subset.addresses or subset.notReadyAddresses], True


def _comparable(subsets: Iterable[EndpointSubset] | None) -> list[EndpointSubset]:
    """Return the subsets without resource versions of references."""
    return repacked(
        replaced(
            subset,
            addresses=[_plain(address) for address in subset.addresses or ()],
            notReadyAddresses=[_plain(address) for address in subset.notReadyAddresses or ()],
        )
        for subset in subsets or ()
    )


def _plain(address: EndpointAddress) -> EndpointAddress:
    target = address.targetRef
    return address if target is None else replaced(address, targetRef=replaced(target, resourceVersion=None))
