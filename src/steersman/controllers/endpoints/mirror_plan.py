"""Slices that mirror custom Endpoints. Pure rules of ``pkg/controller/endpointslicemirroring``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lightkube.models.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from lightkube.models.meta_v1 import ObjectMeta

from steersman.apimachinery.addresses import parse_ip
from steersman.client.objects import annotations_of, labels_of, metadata_field, name_of, namespace_of, uid_of
from steersman.controllers.endpoints.packing import Changes, endpoints_of, identity_of, ports_key, recycle
from steersman.controllers.endpoints.services import (
    LEADER,
    MANAGED_BY,
    SERVICE_NAME,
    TRIGGER_TIME,
    slice_name_prefix,
)
from steersman.controllers.endpoints.subsets import repacked
from steersman.runtime.owners import controller_reference
from steersman.runtime.structs import replaced, with_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.models.core_v1 import EndpointAddress, Endpoints, EndpointSubset, Service

CONTROLLER: Final = "endpointslicemirroring-controller.k8s.io"
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_NOT_MIRRORED: Final = frozenset({TRIGGER_TIME, "kubectl.kubernetes.io/last-applied-configuration"})


@dataclass(slots=True)
class MirrorPlan:
    """Writes, and the numbers of invalid and of excess addresses."""

    changes: Changes
    invalid: int = 0
    skipped: int = 0


@dataclass(slots=True)
class _Mirror:
    """Desired content of one slice."""

    family: str
    ports: list[EndpointPort]
    endpoints: dict[object, Endpoint]


def is_mirrored(endpoints: Endpoints | None, service: Service | None) -> bool:
    """Report whether these Endpoints are mirrored: not a leader election lock, nor managed by a controller."""
    if endpoints is None or service is None or (service.spec is not None and service.spec.selector):
        return False
    return labels_of(endpoints).get(_SKIP) != "true" and LEADER not in annotations_of(endpoints)


def plan_mirror(endpoints: Endpoints, slices: Sequence[EndpointSlice], *, max_per_subset: int) -> MirrorPlan:
    """Return the writes; one slice per address family and set of ports. ``slices``: existing mirrors."""
    plan = MirrorPlan(Changes())
    mirrors: dict[object, _Mirror] = {}
    for subset in repacked(endpoints.subsets or ()):
        _add(plan, mirrors, subset, max_per_subset)
    existing: dict[object, list[EndpointSlice]] = {}
    for slice_ in slices:
        existing.setdefault((slice_.addressType, ports_key(slice_.ports)), []).append(slice_)
    for key, mirror in mirrors.items():
        _settle(plan.changes, endpoints, mirror, existing.pop(key, []))
    plan.changes.delete += [slice_ for rest in existing.values() for slice_ in rest]
    if metadata_field(endpoints, "deletionTimestamp") is not None:
        plan.changes.create.clear()
    plan.changes = recycle(plan.changes, owner_uid=uid_of(endpoints))
    return plan


def _add(plan: MirrorPlan, mirrors: dict[object, _Mirror], subset: EndpointSubset, max_per_subset: int) -> None:
    ports = [
        EndpointPort(
            name=endpoint_port.name or "",
            port=endpoint_port.port,
            protocol=endpoint_port.protocol,
            appProtocol=endpoint_port.appProtocol,
        )
        for endpoint_port in subset.ports or ()
    ]
    rows = [(address, True) for address in subset.addresses or ()]
    rows += [(address, False) for address in subset.notReadyAddresses or ()]
    added = 0
    for address, ready in rows:
        if added >= max_per_subset:
            break
        family = _family(address)
        if family is None:
            plan.invalid += 1
            continue
        mirror = mirrors.setdefault((family, ports_key(ports)), _Mirror(family, ports, {}))
        endpoint = _endpoint(address, ready=ready)
        mirror.endpoints[identity_of(endpoint)] = endpoint
        added += 1
    plan.skipped += len(rows) - added


def _family(address: EndpointAddress) -> str | None:
    ip = parse_ip(address.ip)
    return None if ip is None else f"IPv{ip.version}"


def _endpoint(address: EndpointAddress, *, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=[address.ip],
        conditions=EndpointConditions(ready=ready),
        targetRef=address.targetRef,
        nodeName=address.nodeName or None,
        hostname=address.hostname or None,
    )


def _settle(changes: Changes, endpoints: Endpoints, mirror: _Mirror, existing: list[EndpointSlice]) -> None:
    """Keep one slice, updated if it differs.

    As upstream, an updated slice is addressed by name and loses its ``generateName``.
    """
    new = _slice(endpoints, mirror)
    if not existing:
        changes.create.append(new)
        return
    first, *rest = existing
    changes.delete += rest
    endpoints_by_identity = {identity_of(endpoint): endpoint for endpoint in endpoints_of(first)}
    if (
        endpoints_by_identity == mirror.endpoints
        and labels_of(first) == labels_of(new)
        and annotations_of(first) == annotations_of(new)
    ):
        return
    written = replaced(first, endpoints=new.endpoints, ports=new.ports)
    metadata = {"labels": labels_of(new), "annotations": annotations_of(new) or None, "generateName": None}
    changes.update.append(with_metadata(written, **metadata))


def _slice(endpoints: Endpoints, mirror: _Mirror) -> EndpointSlice:
    owner = controller_reference(endpoints, api_version="v1", kind="Endpoints")
    notes = {key: value for key, value in annotations_of(endpoints).items() if key not in _NOT_MIRRORED}
    return EndpointSlice(
        apiVersion="discovery.k8s.io/v1",
        kind="EndpointSlice",
        metadata=ObjectMeta(
            generateName=slice_name_prefix(name_of(endpoints)),
            namespace=namespace_of(endpoints),
            labels=labels_of(endpoints) | {SERVICE_NAME: name_of(endpoints), MANAGED_BY: CONTROLLER},
            annotations=notes or None,
            ownerReferences=[owner.typed()],
        ),
        addressType=mirror.family,
        ports=mirror.ports or None,
        endpoints=list(mirror.endpoints.values()),
    )
