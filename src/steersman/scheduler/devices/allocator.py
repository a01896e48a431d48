"""Finds devices on a node for all claims of a pod at once, or none (structured parameters, KEP-4381)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.scheduler.devices.capacity import Amounts, Usage, consumption, counters_left, has_room
from steersman.scheduler.devices.constraints import Constraint
from steersman.scheduler.devices.requests import AllocationError, Want, is_selected, wants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.scheduler.devices.pools import Device, Pool, Pools
    from steersman.scheduler.node_info import NodeInfo

#: ``AllocationResultsMaxSize``: devices of one claim.
RESULTS_MAX: Final = 32
#: Devices tried for one pod on one node before it is given up: constraints can make the search grow beyond all bounds.
_TRIALS_MAX: Final = 50_000
TOO_MANY_TRIALS: Final = "timed out trying to allocate devices"


class Choice(NamedTuple):
    """A device for a request."""

    want: Want
    device: Device
    #: What is taken of a shared device; None of one that is not shared.
    consumed: Amounts | None


class Allocator:
    """Made for the claims of one pod; asked for one node after another."""

    def __init__(self, claims: Sequence[Any], classes: Mapping[str, Any], pools: Pools, usage: Usage) -> None:
        self.claims: Final = tuple(claims)
        self._classes: Final = classes
        self._pools: Final = pools
        self._usage: Final = usage
        self._wants: Final = [wants(claim) for claim in claims]

    def allocate(self, node: NodeInfo) -> list[list[Choice]] | None:
        """For each claim its devices in the order of its requests; None when there are too few. Raises AllocationError."""
        search = _Search(self, self._pools.on(node))
        return search.chosen if search.claim(0) else None

    def wants(self, claim: int) -> list[list[Want]]:
        """What a claim asks for."""
        return self._wants[claim]

    def is_taken(self, device: Device) -> bool:
        """Whether a device belongs to a claim already."""
        return device.id in self._usage.devices

    @property
    def usage(self) -> Usage:
        """What other claims hold."""
        return self._usage

    def suits(self, device: Device, want: Want, claim: Any) -> bool:
        """Whether a device is what is wanted, free or not. Raises AllocationError."""
        found = self._classes.get(want.class_name)
        if found is None:
            raise AllocationError(
                f"claim {claim.metadata.namespace}/{claim.metadata.name}, request {want.name}: could not retrieve device "
                f'class {want.class_name}: deviceclass.resource.k8s.io "{want.class_name}" not found'
            )
        return is_selected(device, found.spec.selectors or (), lambda: f"class {want.class_name}") and is_selected(
            device, want.selectors, lambda: f"claim {claim.metadata.namespace}/{claim.metadata.name}"
        )


class _Search:
    """Depth first, with the way back: each call chooses the next device and asks for the rest."""

    def __init__(self, allocator: Allocator, offers: Sequence[tuple[Pool, list[Device]]]) -> None:
        self._allocator = allocator
        self._offers = offers
        # Nothing is taken of pools that are incomplete or wrong; others may do.
        self._devices = [
            (pool, device) for pool, devices in offers if not (pool.is_incomplete or pool.fault) for device in devices
        ]
        self._own = Usage()
        self._constraints = [
            [Constraint(said) for said in (claim.spec.devices.constraints if claim.spec.devices else None) or ()]
            for claim in allocator.claims
        ]
        self._trials = 0
        self.chosen: list[list[Choice]] = [[] for _ in allocator.claims]

    def claim(self, number: int) -> bool:
        """Whether this claim and those after it can be had."""
        return number == len(self.chosen) or self._request(number, 0)

    def _request(self, claim: int, number: int) -> bool:
        requests = self._allocator.wants(claim)
        if number == len(requests):
            return self.claim(claim + 1)
        for want in requests[number]:
            every = self._every(claim, want) if want.takes_all else None
            count = want.count if every is None else len(every)
            if not count or len(self.chosen[claim]) + count > RESULTS_MAX:
                continue
            if self._devices_for(claim, number, want, left=count, every=every):
                return True
        return False

    def _every(self, claim: int, want: Want) -> list[tuple[Pool, Device]]:
        """All devices of a node that are meant, wherever they are in use. Raises AllocationError."""
        said = self._allocator.claims[claim]
        place = f"claim {said.metadata.namespace}/{said.metadata.name}, request {want.name}"
        for pool, _ in self._offers:
            state = "being updated" if pool.is_incomplete else "invalid" if pool.fault else ""
            if state:
                raise AllocationError(
                    f"{place}: asks for all devices, but resource pool {pool.key} is currently {state}"
                )
        return [
            (pool, device)
            for pool, device in self._devices
            if self._allocator.suits(device, want, said) and consumption(device, want.capacity) is not None
        ]

    def _devices_for(
        self, claim: int, number: int, want: Want, *, left: int, every: list[tuple[Pool, Device]] | None, start: int = 0
    ) -> bool:
        """Whether so many more can be had for a request, and then the rest. Devices of one request are alike, so that
        their order does not matter: none before ``start`` is tried again.
        """
        if not left:
            return self._request(claim, number + 1)
        offers = self._devices if every is None else every[: start + 1]
        for index in range(start, len(offers)):
            pool, device = offers[index]
            self._trials += 1
            if self._trials > _TRIALS_MAX:
                raise TimeoutError(TOO_MANY_TRIALS)
            if every is None and not self._allocator.suits(device, want, self._allocator.claims[claim]):
                continue
            taken = self._take(claim, want, pool, device)
            if taken is None:
                continue
            again = index if taken.consumed is not None and every is None else index + 1
            if self._devices_for(claim, number, want, left=left - 1, every=every, start=again):
                return True
            self._give_back(claim, taken)
        return False

    def _take(self, claim: int, want: Want, pool: Pool, device: Device) -> Choice | None:
        """Choose a device, if it is free and goes with the others."""
        if not want.bears(device):
            return None
        amounts = consumption(device, want.capacity)
        if amounts is None:
            return None
        usages = (self._allocator.usage, self._own)
        if want.is_admin:
            if any(choice.device is device for choice in self.chosen[claim]):
                return None
        elif not self._is_free(device, amounts, usages) or not counters_left(device, pool, usages):
            return None
        if not self._goes_with_others(claim, want, device):
            return None
        choice = Choice(want, device, amounts if device.is_shared and not want.is_admin else None)
        if not want.is_admin:
            self._own.count(device.id, choice.consumed or {}, 1)
        self.chosen[claim].append(choice)
        return choice

    def _is_free(self, device: Device, amounts: Amounts, usages: tuple[Usage, Usage]) -> bool:
        if device.is_shared:
            return has_room(device, amounts, usages)
        return not any(device.id in usage.devices for usage in usages)

    def _goes_with_others(self, claim: int, want: Want, device: Device) -> bool:
        added: list[Constraint] = []
        for constraint in self._constraints[claim]:
            if not constraint.concerns(want.name):
                continue
            if not constraint.add(device):
                for each in added:
                    each.remove()
                return False
            added.append(constraint)
        return True

    def _give_back(self, claim: int, choice: Choice) -> None:
        self.chosen[claim].pop()
        if not choice.want.is_admin:
            self._own.count(choice.device.id, choice.consumed or {}, -1)
        for constraint in self._constraints[claim]:
            if constraint.concerns(choice.want.name):
                constraint.remove()
