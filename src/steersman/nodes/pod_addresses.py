"""Allocation of pod IPs from the ``podCIDR`` of their node, or from a shared range for nodes without one."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

#: Range of pods on nodes without ``podCIDR``, and range of the nodes' own addresses.
SHARED_RANGE: Final = "10.128.0.0/9"
NODE_RANGE: Final = "172.16.0.0/12"


class AddressPool:
    """Round-robin allocator of the addresses of one CIDR: a released address is not reused soon."""

    def __init__(self, cidr: str) -> None:
        """Raise ValueError for an invalid CIDR."""
        self._network: IPv4Network | IPv6Network = ip_network(cidr)
        self._allocated: set[int] = set()
        self._next = 1
        self._reserved: dict[str, str] = {}

    def reserve(self, owner: str) -> str:
        """Return a free address, the same for each attempt to assign it; empty if none is free."""
        if owner not in self._reserved:
            self._reserved[owner] = self.take()
        return self._reserved[owner]

    def assigned(self, owner: str, address: str) -> None:
        """Record that ``owner`` has ``address``, reserved or not; empty if it has none."""
        if not address:
            return
        if (reserved := self._reserved.pop(owner, address)) != address:
            self.free(reserved)
        self.mark(address)

    def release(self, owner: str, address: str) -> None:
        """Free the address and the reservation of ``owner``."""
        self.free(address)
        self.free(self._reserved.pop(owner, ""))

    def take(self) -> str:
        """Allocate an address; empty if the range is exhausted."""
        size = self._network.num_addresses - 2  # without the network and the broadcast address
        for _ in range(min(size, len(self._allocated) + 1)):
            offset, self._next = self._next, self._next % size + 1
            if offset not in self._allocated:
                self._allocated.add(offset)
                return str(self._network[offset])
        return ""

    def mark(self, address: str) -> None:
        """Mark an address as allocated; ignore one of another range."""
        offset = self._offset(address)
        if offset is not None:
            self._allocated.add(offset)

    def free(self, address: str) -> None:
        """Free an address. Idempotent."""
        offset = self._offset(address)
        if offset is not None:
            self._allocated.discard(offset)

    def _offset(self, address: str) -> int | None:
        try:
            ip = ip_address(address)
        except ValueError:
            return None
        return int(ip) - int(self._network.network_address) if ip in self._network else None


class PodAddresses:
    """Addresses of pods by UID, until ``forget``."""

    def __init__(self) -> None:
        self._pools: dict[str, AddressPool] = {}
        self._assigned: dict[str, tuple[str, str]] = {}

    def of(self, uid: str, cidr: str, *, current: str = "") -> str:
        """Return the pod's address; ``current`` is the one in its status."""
        assigned_address = self._assigned.get(uid)
        if assigned_address is not None:
            return assigned_address[1]
        pool = self._pools.get(cidr)
        if pool is None:
            pool = self._pools[cidr] = AddressPool(cidr or SHARED_RANGE)
        if current:
            pool.mark(current)
        address = current or pool.take()
        self._assigned[uid] = (cidr, address)
        return address

    def forget(self, uid: str) -> None:
        """Free the address of a deleted pod. Idempotent."""
        assigned_address = self._assigned.pop(uid, None)
        if assigned_address is not None:
            self._pools[assigned_address[0]].free(assigned_address[1])
