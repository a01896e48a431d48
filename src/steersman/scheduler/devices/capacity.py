"""Consumable capacity of shared devices (KEP-5075) and shared counters of partitionable devices (KEP-4815)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.quantity import Quantity, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.scheduler.devices.pools import Device, DeviceID, Pool

#: Amounts by capacity name, in nanos.
CapacityAmounts = dict[str, int]


class Usage:
    """Allocated devices with their reference counts, and consumed capacity of shared devices."""

    def __init__(self) -> None:
        self.devices: Final[Counter[DeviceID]] = Counter()
        self.amounts: Final[dict[DeviceID, Counter[str]]] = {}

    def count(self, device: DeviceID, consumed: Mapping[str, int], sign: int) -> None:
        """Count an allocation of a device (``sign`` 1) or its release (-1)."""
        self.devices[device] += sign
        if not self.devices[device]:
            del self.devices[device]
            self.amounts.pop(device, None)
        elif consumed:
            amounts = self.amounts.setdefault(device, Counter())
            for name, amount in consumed.items():
                amounts[name] += sign * amount

    def taken_of(self, device: DeviceID, name: str) -> int:
        """Return the consumed amount of a capacity."""
        amounts = self.amounts.get(device)
        return amounts[name] if amounts is not None else 0


def consumption(device: Device, requested: Mapping[str, Any]) -> CapacityAmounts | None:
    """Return what a request consumes of each capacity of a device; None if the device cannot satisfy it."""
    if any(name not in device.capacity for name in requested):
        return None
    amounts: CapacityAmounts = {}
    for name, capacity in device.capacity.items():
        amount = _amount(capacity, requested.get(name))
        if amount is None or amount > parse(str(capacity["value"])).nanos:
            return None
        amounts[name] = amount
    return amounts


def _amount(capacity: Mapping[str, Any], requested: Any) -> int | None:
    """Round the requested amount by the capacity's request policy; None if the policy forbids it."""
    policy = capacity.get("requestPolicy") or {}
    if requested is None:
        return parse(str(policy.get("default") or capacity["value"])).nanos
    amount = parse(str(requested)).nanos
    values = policy.get("validValues")
    if values:
        return min((value for value in map(_nanos, values) if value >= amount), default=None)
    allowed = policy.get("validRange")
    if not allowed:
        return amount
    least, step = _nanos(allowed["min"]), _nanos(allowed.get("step") or "0")
    amount = max(amount, least)
    if step:
        amount = least + -(-(amount - least) // step) * step
    return None if allowed.get("max") is not None and amount > _nanos(allowed["max"]) else amount


def _nanos(text: Any) -> int:
    return parse(str(text)).nanos


def has_room(device: Device, amounts: CapacityAmounts, usages: Iterable[Usage]) -> bool:
    """Report whether a shared device has enough capacity left."""
    usages = tuple(usages)
    return all(
        amount + sum(usage.taken_of(device.id, name) for usage in usages) <= _nanos(device.capacity[name]["value"])
        for name, amount in amounts.items()
    )


def counters_left(device: Device, pool: Pool, usages: Iterable[Usage]) -> bool:
    """Report whether the pool's shared counters allow the device. A shared device consumes its counters once."""
    if not device.consumes:
        return True
    usages = tuple(usages)
    consuming_devices = [
        device for device in pool.devices if device.consumes and any(device.id in usage.devices for usage in usages)
    ]
    if device in consuming_devices:
        return True
    for set_name, counters in device.consumes.items():
        available = pool.counters.get(set_name, {})
        for name, amount in counters.items():
            used = sum(device.consumes.get(set_name, {}).get(name, 0) for device in consuming_devices)
            if used + amount > available.get(name, 0):
                return False
    return True


def as_quantities(device: Device, amounts: CapacityAmounts) -> dict[str, str]:
    """Format amounts for a claim's status."""
    return {
        name: str(Quantity(nanos, parse(str(device.capacity[name]["value"])).format))
        for name, nanos in sorted(amounts.items())
    }
