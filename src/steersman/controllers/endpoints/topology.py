"""Topology aware hints (annotation ``service.kubernetes.io/topology-mode``). Pure rules of ``topologycache``.

Endpoints are hinted to their own zone, then moved between zones until every zone has its share, which is its nodes' share of
the cluster's CPU. Endpoints in slices without other changes keep their hints while these are possible.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Final

from lightkube.models.discovery_v1 import EndpointHints, ForZone

from steersman.apimachinery import quantity
from steersman.client.objects import annotations_of, labels_of, name_of
from steersman.controllers.endpoints.packing import Changes, endpoints_of
from steersman.runtime.structs import replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import Node, Service
    from lightkube.models.discovery_v1 import Endpoint, EndpointSlice

ZONE: Final = "topology.kubernetes.io/zone"
#: Annotations that request hints, in order of precedence.
_MODES: Final = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
#: Tolerated overload of an endpoint.
_OVERLOAD: Final = 0.2


class HintsDisabledError(Exception):
    """Hints cannot be assigned; the message is for users."""


@dataclass(slots=True)
class Hinting:
    """Result for one address family: endpoints by hinted zone, or the reason for the lack of hints."""

    zones: dict[str, int] | None = None
    reason: str = ""


@dataclass(slots=True)
class _Allocation:
    """Numbers of endpoints of a zone."""

    least: int
    desired: float
    most: int = 0


@dataclass(slots=True)
class NodeZones:
    """CPU of the ready nodes by zone, updated per node."""

    #: Zone and CPU of each node, and the sums by zone, in thousandths.
    _nodes: dict[str, tuple[str, int]] = field(default_factory=dict)
    _milli: Counter[str] = field(default_factory=Counter)
    #: Number of nodes without zone or CPU.
    _incomplete: int = 0

    def note(self, node: Node) -> bool:
        """Record a node. Report whether it became ready or not ready, or changed its zone."""
        before = self.remove(name_of(node))
        if not is_counted(node):
            return before is not None
        allocatable = (node.status.allocatable if node.status else None) or {}
        zone, milli = labels_of(node).get(ZONE, ""), quantity.parse(str(allocatable.get("cpu", "0"))).milli
        self._nodes[name_of(node)] = (zone, milli)
        self._milli[zone] += milli
        self._incomplete += not (zone and milli)
        return before != zone

    def remove(self, name: str) -> str | None:
        """Remove a node. Return its zone; None if it was not counted."""
        if name not in self._nodes:
            return None
        zone, milli = self._nodes.pop(name)
        self._milli[zone] -= milli
        self._incomplete -= not (zone and milli)
        return zone

    def shares(self) -> dict[str, float] | None:
        """Return each zone's share of all CPU; None if a node lacks zone or CPU, or all are in one zone."""
        zones = {zone: milli for zone, milli in self._milli.items() if milli}
        if self._incomplete or len(zones) < 2:
            return None
        total = sum(zones.values())
        return {zone: milli / total for zone, milli in zones.items()}


def is_counted(node: Node) -> bool:
    """Report whether a node is ready and no control plane node."""
    if any(label in labels_of(node) for label in _CONTROL_PLANE):
        return False
    conditions = (node.status.conditions if node.status else None) or ()
    return next((condition.status == "True" for condition in conditions if condition.type == "Ready"), False)


def is_requested(service: Service) -> bool:
    """Report whether the Service's annotation requests hints."""
    annotations = annotations_of(service)
    mode = next((annotations[name] for name in _MODES if name in annotations), "")
    return mode in ("Auto", "auto")


def is_overloaded(zones: Mapping[str, int], shares: Mapping[str, float] | None) -> bool:
    """Report whether a zone has too few of a Service's endpoints."""
    if not zones or not shares:
        return bool(zones)
    total = sum(zones.values())
    return any(
        zone not in zones or zones[zone] < ceil(total * share * (1 / (1 + _OVERLOAD))) for zone, share in shares.items()
    )


def without_hints(slice_: EndpointSlice) -> EndpointSlice:
    """Return the slice, its endpoints without hints."""
    return replaced(slice_, endpoints=[replaced(endpoint, hints=None) for endpoint in endpoints_of(slice_)])


def hint(changes: Changes, unchanged: Sequence[EndpointSlice], shares: Mapping[str, float] | None) -> Hinting:
    """Set hints in slices to create or update, and add ``unchanged`` slices that need other hints."""
    updates = list(changes.update)
    try:
        zones = _hint(changes, unchanged, shares)
    except HintsDisabledError as error:
        hinted = [slice_ for slice_ in unchanged if any(endpoint.hints for endpoint in endpoints_of(slice_))]
        changes.create[:] = map(without_hints, changes.create)
        changes.update[:] = map(without_hints, [*updates, *hinted])
        return Hinting(reason=str(error))
    return Hinting(zones)


def _hint(changes: Changes, unchanged: Sequence[EndpointSlice], shares: Mapping[str, float] | None) -> dict[str, int]:
    total = sum(_is_ready(endpoint) for slice_ in (*changes.create, *changes.update, *unchanged)
                for endpoint in endpoints_of(slice_))  # fmt: skip
    allocations = _allocations(total, shares)
    zones: dict[str, int] = {}
    for slice_ in unchanged:
        present = _hinted_zones(slice_, zones, allocations)
        if present is None:
            changes.update.append(without_hints(slice_))
            continue
        for zone, number in present.items():
            zones[zone] = zones.get(zone, 0) + number
    for slices in (changes.create, changes.update):
        slices[:] = [_hinted_to_own_zone(slice_, zones) for slice_ in slices]
    giving, receiving = _moves(allocations, zones)
    for slices in (changes.create, changes.update):
        slices[:] = [_redistributed(slice_, giving, receiving, zones) for slice_ in slices]
    if not zones:
        raise HintsDisabledError("No hints allocated for zones")
    return zones


def _allocations(total: int, shares: Mapping[str, float] | None) -> dict[str, _Allocation]:
    """Return the bounds of each zone. Raises HintsDisabledError if no distribution avoids an overload."""
    if shares is None:
        fault = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
        raise HintsDisabledError(fault)
    numbers = f"({total} endpoints, {len(shares)} zones)"
    if len(shares) > total:
        raise HintsDisabledError(f"Insufficient number of endpoints {numbers}")
    allocations = {}
    for zone, share in shares.items():
        least = ceil(share * total * (1 / (1 + _OVERLOAD)))
        allocations[zone] = _Allocation(least, max(share * total, least))
    spare = total - sum(allocation.least for allocation in allocations.values())
    if spare < 0:
        fault = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
        raise HintsDisabledError(f"{fault} {numbers}")
    for allocation in allocations.values():
        allocation.most = allocation.least + spare
    return allocations


def _hinted_zones(
    slice_: EndpointSlice, zones: Mapping[str, int], allocations: Mapping[str, _Allocation]
) -> dict[str, int] | None:
    """Return the hinted zones of an unchanged slice in addition to ``zones`` of others; None if it needs other hints."""
    present: dict[str, int] = {}
    for endpoint in filter(_is_ready, endpoints_of(slice_)):
        hinted = (endpoint.hints.forZones if endpoint.hints else None) or ()
        if not hinted or any(zone.name not in allocations for zone in hinted):
            return None
        for zone in hinted:
            present[zone.name] = present.get(zone.name, 0) + 1
    is_possible = all(zones.get(zone, 0) + number <= allocations[zone].most for zone, number in present.items())
    return present if is_possible else None


def _hinted_to_own_zone(slice_: EndpointSlice, zones: dict[str, int]) -> EndpointSlice:
    endpoints = []
    for endpoint in endpoints_of(slice_):
        if not _is_ready(endpoint):
            endpoints.append(endpoint)
            continue
        if not endpoint.zone:
            raise HintsDisabledError("One or more endpoints do not have a zone specified")
        zones[endpoint.zone] = zones.get(endpoint.zone, 0) + 1
        endpoints.append(_for_zone(endpoint, endpoint.zone))
    return replaced(slice_, endpoints=endpoints)


def _moves(allocations: Mapping[str, _Allocation], zones: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers of endpoints that each zone gives and receives."""
    spare = {zone: zones.get(zone, 0) - allocation.desired for zone, allocation in sorted(allocations.items())}
    surplus = {zone: number for zone, number in spare.items() if number > 0}
    need = {zone: -number for zone, number in spare.items() if number < 0}
    giving: dict[str, int] = {}
    receiving: dict[str, int] = {}
    while surplus and need:
        giving_zone, receiving_zone = max(surplus, key=surplus.__getitem__), max(need, key=need.__getitem__)
        smaller, larger = sorted((surplus[giving_zone], need[receiving_zone]))
        if larger < 1 or smaller < 0.5:
            break
        giving[giving_zone] = giving.get(giving_zone, 0) + 1
        receiving[receiving_zone] = receiving.get(receiving_zone, 0) + 1
        surplus[giving_zone] -= 1
        need[receiving_zone] -= 1
    return giving, receiving


def _redistributed(
    slice_: EndpointSlice, giving: dict[str, int], receiving: dict[str, int], zones: dict[str, int]
) -> EndpointSlice:
    """Return the slice with endpoints moved to other zones, within ``giving`` and ``receiving``."""
    endpoints = endpoints_of(slice_)
    for place, endpoint in enumerate(endpoints):
        giving_zone = endpoint.zone
        if not _is_ready(endpoint) or not giving_zone or not giving.get(giving_zone):
            continue
        receiving_zone = next((zone for zone, number in receiving.items() if number), None)
        if receiving_zone is None:
            break
        endpoints[place] = _for_zone(endpoint, receiving_zone)
        giving[giving_zone] -= 1
        receiving[receiving_zone] -= 1
        zones[giving_zone] = zones.get(giving_zone, 0) - 1
        zones[receiving_zone] = zones.get(receiving_zone, 0) + 1
    return replaced(slice_, endpoints=endpoints)


def _for_zone(endpoint: Endpoint, zone: str) -> Endpoint:
    return replaced(endpoint, hints=EndpointHints(forZones=[ForZone(name=zone)]))


def _is_ready(endpoint: Endpoint) -> bool:
    return bool(endpoint.conditions and endpoint.conditions.ready)


@dataclass(slots=True)
class HintedServices:
    """Services with hints, and the zones of their endpoints by address family."""

    _zones: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return key in self._zones

    def record(self, key: str, family: str, zones: dict[str, int]) -> None:
        """Record the hints of a Service."""
        self._zones.setdefault(key, {})[family] = zones

    def forget(self, key: str) -> None:
        """Remove a Service without hints."""
        self._zones.pop(key, None)

    def overloaded(self, shares: Mapping[str, float] | None) -> Iterable[str]:
        """Return the Services that need other hints after a change of nodes."""
        return [key for key, families in self._zones.items()
                if any(is_overloaded(zones, shares) for zones in families.values())]  # fmt: skip
