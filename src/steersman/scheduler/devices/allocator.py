"""Allocation of devices on a node for all claims of a pod (structured parameters, KEP-4381).

Upstream: ``k8s.io/dynamic-resource-allocation/structured``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.scheduler.devices.capacity import CapacityAmounts, Usage, consumption, counters_left, has_room
from steersman.scheduler.devices.constraints import Constraint
from steersman.scheduler.devices.requests import AllocationError, DeviceRequest, device_requests, matches_selectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.scheduler.devices.pools import Device, Pool, Pools
    from steersman.scheduler.node_info import NodeInfo

#: Maximum number of devices per claim (``AllocationResultsMaxSize``).
RESULTS_MAX: Final = 32
#: Bound on candidate devices per pod and node: backtracking over constraints is exponential.
_ATTEMPTS_MAX: Final = 50_000
TOO_MANY_ATTEMPTS: Final = "timed out trying to allocate devices"


class Choice(NamedTuple):
    """A device chosen for a request."""

    request: DeviceRequest
    device: Device
    #: Consumed capacity of a shared device, None for others.
    consumed: CapacityAmounts | None


class Allocator:
    """Allocates the claims of one pod, on one node after another."""

    def __init__(self, claims: Sequence[Any], classes: Mapping[str, Any], pools: Pools, usage: Usage) -> None:
        self.claims: Final = tuple(claims)
        self._classes: Final = classes
        self._pools: Final = pools
        self._usage: Final = usage
        self._device_requests: Final = [device_requests(claim) for claim in claims]

    def allocate(self, node: NodeInfo) -> list[list[Choice]] | None:
        """Return the chosen devices of each claim in request order; None if they do not suffice. Raises
        AllocationError.
        """
        search = _Search(self, self._pools.on(node))
        return search.chosen if search.claim(0) else None

    def device_requests(self, claim: int) -> list[list[DeviceRequest]]:
        """Return the requests of a claim, by index."""
        return self._device_requests[claim]

    def is_taken(self, device: Device) -> bool:
        """Report whether another claim holds the device."""
        return device.id in self._usage.devices

    @property
    def usage(self) -> Usage:
        """Devices and capacity held by other claims."""
        return self._usage

    def matches_request(self, device: Device, request: DeviceRequest, claim: Any) -> bool:
        """Report whether a device matches the selectors of a request and its class. Raises AllocationError."""
        device_class = self._classes.get(request.class_name)
        if device_class is None:
            raise AllocationError(
                f"claim {claim.metadata.namespace}/{claim.metadata.name}, request {request.name}: could not retrieve device "
                f'class {request.class_name}: deviceclass.resource.k8s.io "{request.class_name}" not found'
            )
        return matches_selectors(
            device, device_class.spec.selectors or (), lambda: f"class {request.class_name}"
        ) and matches_selectors(
            device, request.selectors, lambda: f"claim {claim.metadata.namespace}/{claim.metadata.name}"
        )


class _Search:
    """Depth-first search with backtracking: each call chooses the next device and recurses for the rest."""

    def __init__(self, allocator: Allocator, offers: Sequence[tuple[Pool, list[Device]]]) -> None:
        self._allocator = allocator
        self._offers = offers
        # Incomplete and invalid pools offer no devices; other pools may suffice.
        self._devices = [
            (pool, device) for pool, devices in offers if not (pool.is_incomplete or pool.fault) for device in devices
        ]
        self._chosen_usage = Usage()
        self._constraints = [
            [Constraint(spec) for spec in (claim.spec.devices.constraints if claim.spec.devices else None) or ()]
            for claim in allocator.claims
        ]
        self._attempts = 0
        self.chosen: list[list[Choice]] = [[] for _ in allocator.claims]

    def claim(self, number: int) -> bool:
        """Allocate this claim and those after it; report success."""
        return number == len(self.chosen) or self._request(number, 0)

    def _request(self, claim: int, number: int) -> bool:
        requests = self._allocator.device_requests(claim)
        if number == len(requests):
            return self.claim(claim + 1)
        for request in requests[number]:
            all_devices = self._all_matching(claim, request) if request.takes_all else None
            count = request.count if all_devices is None else len(all_devices)
            if not count or len(self.chosen[claim]) + count > RESULTS_MAX:
                continue
            if self._devices_for(claim, number, request, remaining=count, all_devices=all_devices):
                return True
        return False

    def _all_matching(self, claim: int, request: DeviceRequest) -> list[tuple[Pool, Device]]:
        """Return all matching devices of the node, for allocation mode All. Raises AllocationError."""
        claim_object = self._allocator.claims[claim]
        place = f"claim {claim_object.metadata.namespace}/{claim_object.metadata.name}, request {request.name}"
        for pool, _ in self._offers:
            state = "being updated" if pool.is_incomplete else "invalid" if pool.fault else ""
            if state:
                raise AllocationError(
                    f"{place}: asks for all devices, but resource pool {pool.key} is currently {state}"
                )
        return [
            (pool, device)
            for pool, device in self._devices
            if self._allocator.matches_request(device, request, claim_object)
            and consumption(device, request.capacity) is not None
        ]

    def _devices_for(
        self,
        claim: int,
        number: int,
        request: DeviceRequest,
        *,
        remaining: int,
        all_devices: list[tuple[Pool, Device]] | None,
        start: int = 0,
    ) -> bool:
        """Allocate ``left`` more devices for a request, then the remaining requests; report success.

        The devices of one request are interchangeable, so candidates before ``start`` are not tried again.
        """
        if not remaining:
            return self._request(claim, number + 1)
        offers = self._devices if all_devices is None else all_devices[: start + 1]
        for index in range(start, len(offers)):
            pool, device = offers[index]
            self._attempts += 1
            if self._attempts > _ATTEMPTS_MAX:
                raise TimeoutError(TOO_MANY_ATTEMPTS)
            if all_devices is None and not self._allocator.matches_request(
                device, request, self._allocator.claims[claim]
            ):
                continue
            chosen = self._choose(claim, request, pool, device)
            if chosen is None:
                continue
            next_index = index if chosen.consumed is not None and all_devices is None else index + 1
            if self._devices_for(
                claim, number, request, remaining=remaining - 1, all_devices=all_devices, start=next_index
            ):
                return True
            self._undo(claim, chosen)
        return False

    def _choose(self, claim: int, request: DeviceRequest, pool: Pool, device: Device) -> Choice | None:
        """Choose a device if it is available and satisfies the constraints."""
        if not request.tolerates_taints(device):
            return None
        amounts = consumption(device, request.capacity)
        if amounts is None:
            return None
        usages = (self._allocator.usage, self._chosen_usage)
        if request.is_admin:
            if any(choice.device is device for choice in self.chosen[claim]):
                return None
        elif not self._is_free(device, amounts, usages) or not counters_left(device, pool, usages):
            return None
        if not self._satisfies_constraints(claim, request, device):
            return None
        choice = Choice(
            request, device, amounts if device.allows_multiple_allocations and not request.is_admin else None
        )
        if not request.is_admin:
            self._chosen_usage.count(device.id, choice.consumed or {}, 1)
        self.chosen[claim].append(choice)
        return choice

    def _is_free(self, device: Device, amounts: CapacityAmounts, usages: tuple[Usage, Usage]) -> bool:
        if device.allows_multiple_allocations:
            return has_room(device, amounts, usages)
        return not any(device.id in usage.devices for usage in usages)

    def _satisfies_constraints(self, claim: int, request: DeviceRequest, device: Device) -> bool:
        added: list[Constraint] = []
        for constraint in self._constraints[claim]:
            if not constraint.applies_to(request.name):
                continue
            if not constraint.add(device):
                for each in added:
                    each.remove()
                return False
            added.append(constraint)
        return True

    def _undo(self, claim: int, choice: Choice) -> None:
        self.chosen[claim].pop()
        if not choice.request.is_admin:
            self._chosen_usage.count(choice.device.id, choice.consumed or {}, -1)
        for constraint in self._constraints[claim]:
            if constraint.applies_to(choice.request.name):
                constraint.remove()
