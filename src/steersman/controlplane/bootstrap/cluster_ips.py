"""Consistency of cluster IPs and IPAddress objects: faults and repairs. Pure rules.

Rules and event messages are upstream's ``ipallocator/controller``. There are two directions: every address of a
Service has its object, and every object of the allocator has its Service.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.addresses import IPAddress, IPNetwork, parse_cidr, parse_ip
from steersman.apimachinery.timestamps import parse_time
from steersman.apiserver.kinds.core.service.allocation import FAMILY_LABEL, MANAGED_BY, MANAGED_BY_LABEL
from steersman.apiserver.kinds.shared.allocation import family_of
from steersman.controlplane.bootstrap.findings import Fault, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from steersman.apimachinery.trees import Tree


#: Grace period of an address without a Service after its creation: its Service may not be stored yet.
GRACE: Final = timedelta(seconds=60)

_ALLOCATION: Final = "ClusterIPAllocation"
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


class AddressPlan(msgspec.Struct, frozen=True):
    """Findings and writes for one object."""

    findings: tuple[Finding, ...] = ()
    #: IPAddress objects to delete, as observed.
    remove: tuple[dict[str, Any], ...] = ()
    #: IPAddress objects to create after the deletions.
    make: tuple[dict[str, Any], ...] = ()
    #: Seconds until the next check.
    again_seconds: float | None = None

    @property
    def changes(self) -> bool:
        """Report whether there is anything to write."""
        return bool(self.remove or self.make)


class AllocatorObjects(msgspec.Struct, frozen=True):
    """Objects to compare with."""

    #: Services by namespace and name.
    service: Callable[[tuple[str, str]], dict[str, Any] | None]
    #: IPAddresses by name.
    address: Callable[[str], dict[str, Any] | None]
    #: Networks of service addresses.
    ranges: Sequence[IPNetwork] = ()


def index_objects(services: Iterable[Tree], addresses: Iterable[Tree], ranges: Sequence[IPNetwork]) -> AllocatorObjects:
    """Index the objects by the keys of their look-ups."""
    by_key = {(service["metadata"]["namespace"], service["metadata"]["name"]): service for service in services}
    return AllocatorObjects(by_key.get, {address["metadata"]["name"]: address for address in addresses}.get, ranges)


def service_ranges(cidrs: Iterable[Tree], own: Sequence[IPNetwork]) -> list[IPNetwork]:
    """Return all networks of service addresses: of ServiceCIDRs, and the server's own."""
    named = [parse_cidr(text) for cidr in cidrs for text in (cidr.get("spec") or {}).get("cidrs") or ()]
    return [*own, *(network for network in named if network is not None and network not in own)]


def address_object(ip: IPAddress, service: Tree) -> Tree:
    """Return the IPAddress of a service's ``ip``."""
    labels = {FAMILY_LABEL: family_of(ip), MANAGED_BY_LABEL: MANAGED_BY}
    metadata = service["metadata"]
    parent = {"resource": "services", "namespace": metadata["namespace"], "name": metadata["name"]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": str(ip), "labels": labels},
        "spec": {"parentRef": parent},
    }


# -- every address of a Service has its object -------------------------------------------------------------------------


def plan_service_addresses(service: Tree, objects: AllocatorObjects) -> AddressPlan:
    """Return findings and repairs of a Service's cluster IPs."""
    findings: list[Finding] = []
    remove: list[Tree] = []
    make: list[Tree] = []
    for text in cluster_ips(service):
        ip = parse_ip(text)
        address = objects.address(str(ip)) if ip is not None else None
        finding = _address_fault(service, text, ip, objects)
        if finding is not None:
            findings.append(finding)
        if finding is not None and finding.fault is not Fault.REPAIR:
            continue  # requires a decision of the administrator
        if ip is not None and (finding is not None or not _has_labels(address, ip)):
            if address is not None:
                remove.append(address)
            make.append(address_object(ip, service))
    return AddressPlan(tuple(findings), tuple(remove), tuple(make))


def _address_fault(service: Tree, text: str, ip: IPAddress | None, objects: AllocatorObjects) -> Finding | None:
    if ip is None:
        note = f"Cluster IP {text} is not a valid IP; please recreate Service"
        return _about_service(service, Fault.INVALID, "ClusterIPNotValid", note, action="ClusterIPValidation")
    family_and_ip = f"[{family_of(ip)}]: {ip}"
    if not any(ip in network for network in objects.ranges):
        note = f"Cluster IP {family_and_ip} is not within any configured Service CIDR; please recreate service"
        return _about_service(service, Fault.OUT_OF_RANGE, "ClusterIPOutOfRange", note)
    address = objects.address(str(ip))
    if address is None:
        note = f"Cluster IP {family_and_ip} is not allocated; repairing"
        return _about_service(service, Fault.REPAIR, "ClusterIPNotAllocated", note)
    metadata, reference = service["metadata"], _parent_of(address)
    parent = parent_key(address)
    if _is_service(reference) and parent == (metadata["namespace"], metadata["name"]):
        return None
    other = objects.service(parent) if _is_service(reference) else None
    if other is not None and str(ip) in cluster_ips(other):
        note = f"Cluster IP [{family_of(ip)}]:{ip} was assigned to multiple services; please recreate service"
        return _about_service(service, Fault.DUPLICATE, "ClusterIPAlreadyAllocated", note)
    name = f"{metadata['namespace']}/{metadata['name']}"
    note = f"the ClusterIP {family_and_ip} for Service {name} has a wrong reference; repairing"
    return _about_service(service, Fault.REPAIR, "ClusterIPNotAllocated", note)


def _about_service(service: Tree, fault: Fault, reason: str, note: str, *, action: str = _ALLOCATION) -> Finding:
    return Finding(fault=fault, about=service, reason=reason, action=action, note=note)


def cluster_ips(service: Tree) -> list[str]:
    """Return the cluster IPs of a Service; none if headless or of type ExternalName."""
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") in ("", "None", None):
        return []
    return spec.get("clusterIPs") or [spec["clusterIP"]]


def _has_labels(address: Tree | None, ip: IPAddress) -> bool:
    labels = ((address or {}).get("metadata") or {}).get("labels") or {}
    return (labels.get(FAMILY_LABEL), labels.get(MANAGED_BY_LABEL)) == (family_of(ip), MANAGED_BY)


# -- every object of the allocator has its Service ---------------------------------------------------------------------


def plan_address(address: Tree, objects: AllocatorObjects, *, now: datetime) -> AddressPlan:
    """Return findings and repairs of an IPAddress; those of other managers are ignored."""
    metadata = address["metadata"]
    if (metadata.get("labels") or {}).get(MANAGED_BY_LABEL) != MANAGED_BY:
        return AddressPlan()
    name, reference = metadata["name"], _parent_of(address)
    if not _is_service(reference):
        note = f"IPAddress {name} appears to have been modified, not referencing a Service {_reference_text(reference)}: cleaning up"
        return _remove(address, Fault.LEAK, "IPAddressNotAllocated", note)
    key = parent_key(address)
    service_name, service = "/".join(key), objects.service(key)
    if service is None:
        remaining_seconds = (_created(address) + GRACE - now).total_seconds()
        if remaining_seconds >= 0:
            return AddressPlan(again_seconds=remaining_seconds + 1)  # creation times have whole seconds
        note = f"IPAddress: {name} for Service {service_name} appears to have leaked: cleaning up"
        return _remove(address, Fault.LEAK, "IPAddressNotAllocated", note)
    if name in cluster_ips(service):
        return AddressPlan()
    note = f"IPAddress: {name} for Service {service_name} has a wrong reference; cleaning up"
    return _remove(address, Fault.REPAIR, "IPAddressWrongReference", note)


def _remove(address: Tree, fault: Fault, reason: str, note: str) -> AddressPlan:
    finding = Finding(fault=fault, about=address, reason=reason, action="IPAddressAllocation", note=note)
    return AddressPlan((finding,), remove=(address,))


def parent_key(address: Tree) -> tuple[str, str]:
    """Return namespace and name of an IPAddress's parent."""
    reference = _parent_of(address)
    return reference.get("namespace") or "", reference.get("name") or ""


def _parent_of(address: Tree) -> Tree:
    return (address.get("spec") or {}).get("parentRef") or {}


def _is_service(reference: Mapping[str, Any]) -> bool:
    return not reference.get("group") and reference.get("resource") == "services"


def _reference_text(reference: Mapping[str, Any]) -> str:
    resource = ".".join(part for part in (reference.get("resource"), reference.get("group")) if part)
    return "/".join(part for part in (resource, reference.get("namespace"), reference.get("name")) if part)


def _created(address: Tree) -> datetime:
    stamp = address["metadata"].get("creationTimestamp")
    return parse_time(stamp) if stamp else _LONG_AGO


# -- both
# ---------------------------------------------------------------------------------------------------------------


def plan_everything(
    services: Sequence[Tree], addresses: Sequence[Tree], ranges: Sequence[IPNetwork], *, now: datetime
) -> Iterator[AddressPlan]:
    """Return findings and repairs of a whole pass: all Services, then all addresses."""
    objects = index_objects(services, addresses, ranges)
    for service in services:
        yield plan_service_addresses(service, objects)
    for address in addresses:
        yield plan_address(address, objects, now=now)
