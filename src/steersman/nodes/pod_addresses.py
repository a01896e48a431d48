"""Addresses of pods, from their node's range; of nodes without one, from a range that all of them share."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

#: For nodes that nobody has given a range, and for the nodes themselves.
SHARED_RANGE: Final = "10.128.0.0/9"
NODE_RANGE: Final = "172.16.0.0/12"


class AddressPool:
    """The addresses of one range: handed out in turn, so that one is not used again soon after it was given back."""

    def __init__(self, cidr: str) -> None:
        """Raises ValueError."""
        self._network: IPv4Network | IPv6Network = ip_network(cidr)
        self._taken: set[int] = set()
        self._next = 1
        self._reserved: dict[str, str] = {}

    def reserve(self, owner: str) -> str:
        """Return a free address, the same one for each attempt to assign it; empty when there is none."""
        if owner not in self._reserved:
            self._reserved[owner] = self.take()
        return self._reserved[owner]

    def assigned(self, owner: str, address: str) -> None:
        """``owner`` has this address now, whether or not it was the reserved one; empty: it has none yet."""
        if not address:
            return
        if (reserved := self._reserved.pop(owner, address)) != address:
            self.give_back(reserved)
        self.mark(address)

    def release(self, owner: str, address: str) -> None:
        """``owner`` is gone: its address and its reservation are free again."""
        self.give_back(address)
        self.give_back(self._reserved.pop(owner, ""))

    def take(self) -> str:
        """A free address; empty when there is none."""
        size = self._network.num_addresses - 2  # without the range's own address and the broadcast
        for _ in range(min(size, len(self._taken) + 1)):
            offset, self._next = self._next, self._next % size + 1
            if offset not in self._taken:
                self._taken.add(offset)
                return str(self._network[offset])
        return ""

    def mark(self, address: str) -> None:
        """An address is in use already; one of another range does not concern this pool."""
        offset = self._offset(address)
        if offset is not None:
            self._taken.add(offset)

    def give_back(self, address: str) -> None:
        """An address is free again. Idempotent."""
        offset = self._offset(address)
        if offset is not None:
            self._taken.discard(offset)

    def _offset(self, address: str) -> int | None:
        try:
            found = ip_address(address)
        except ValueError:
            return None
        return int(found) - int(self._network.network_address) if found in self._network else None


class PodAddresses:
    """Which pod has which address. Forgets a pod when it is told to."""

    def __init__(self) -> None:
        self._pools: dict[str, AddressPool] = {}
        self._held: dict[str, tuple[str, str]] = {}

    def of(self, uid: str, cidr: str, *, known: str = "") -> str:
        """The pod's address; ``known`` is the one that its status tells."""
        held = self._held.get(uid)
        if held is not None:
            return held[1]
        pool = self._pools.get(cidr)
        if pool is None:
            pool = self._pools[cidr] = AddressPool(cidr or SHARED_RANGE)
        if known:
            pool.mark(known)
        address = known or pool.take()
        self._held[uid] = (cidr, address)
        return address

    def forget(self, uid: str) -> None:
        """The pod is gone. Idempotent."""
        held = self._held.pop(uid, None)
        if held is not None:
            self._pools[held[0]].give_back(held[1])
