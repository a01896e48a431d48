"""Allocation of pod CIDRs. Pure rules of ``pkg/controller/nodeipam/ipam``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.addresses import IPNetwork, parse_cidr

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Node

    from steersman.apimachinery.trees import Tree


#: Default prefix length of a Node's CIDR in a single-family cluster, by family.
_DEFAULT_PREFIX: Final = {4: 24, 6: 64}
#: At most 2**16 Nodes.
_PREFIX_DIFFERENCE_MAX: Final = 16


class RangeFull(Exception):  # noqa: N818 — named by the condition
    """No CIDR is free."""


class NodeRanges:
    """Subnets of one cluster CIDR. Released CIDRs are reused after all others."""

    def __init__(self, cluster: IPNetwork, prefix: int) -> None:
        """``prefix``: prefix length of a Node's CIDR. Raises ValueError if it is invalid for the cluster CIDR."""
        if prefix > cluster.max_prefixlen or prefix < cluster.prefixlen:
            raise ValueError(f"a Node's range of /{prefix} is not within the cluster's {cluster}")
        if prefix - cluster.prefixlen > _PREFIX_DIFFERENCE_MAX:
            raise ValueError("New CIDR set failed; the node CIDR size is too big")
        self.cluster: Final = cluster
        self._prefix = prefix
        self._size_bits = cluster.max_prefixlen - prefix
        self._count = 1 << (prefix - cluster.prefixlen)
        self._allocated: set[int] = set()
        self._next = 0

    @property
    def is_full(self) -> bool:
        """Report whether no CIDR is free."""
        return len(self._allocated) >= self._count

    def take(self) -> str:
        """Allocate the next free CIDR. Raises RangeFull."""
        if len(self._allocated) >= self._count:
            raise RangeFull(
                "CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range"
            )
        while self._next in self._allocated:
            self._next = (self._next + 1) % self._count
        index, self._next = self._next, (self._next + 1) % self._count
        self._allocated.add(index)
        address = self.cluster.network_address + (index << self._size_bits)
        return f"{address}/{self._prefix}"

    def occupy(self, text: str) -> bool:
        """Mark a CIDR as allocated; return False if it is not within the cluster CIDR."""
        indexes = self._indexes(text)
        self._allocated.update(indexes)
        return bool(indexes)

    def release(self, text: str) -> None:
        """Release a CIDR."""
        self._allocated.difference_update(self._indexes(text))

    def _indexes(self, text: str) -> range:
        network = parse_cidr(text)
        if network is None or network.version != self.cluster.version or not network.overlaps(self.cluster):
            return range(0)
        base = int(self.cluster.network_address)
        first = max(0, int(network.network_address) - base) >> self._size_bits
        last = (int(network.broadcast_address) - base) >> self._size_bits
        return range(first, min(last, self._count - 1) + 1)


def parse_cluster(text: str) -> list[IPNetwork]:
    """Parse ``--cluster-cidr``: one CIDR, or one of each family. Raises ValueError."""
    networks: list[IPNetwork] = []
    for part in text.split(",") if text else ():
        network = parse_cidr(part.strip())
        if network is None:
            raise ValueError(f"--cluster-cidr: {part!r} is no CIDR")
        networks.append(network)
    if not networks:
        raise ValueError("--cluster-cidr is needed where Nodes are to get ranges")
    versions = [network.version for network in networks]
    if len(set(versions)) != len(versions):
        raise ValueError("--cluster-cidr: two ranges must be of two families")
    return networks


def prefix_for(network: IPNetwork, *, general: int, ipv4: int, ipv6: int, dual: bool) -> int:
    """Return the prefix length of a Node's CIDR from the three options; 0 is unset. Raises ValueError."""
    own = ipv4 if network.version == 4 else ipv6
    if dual and general:
        raise ValueError("usage of --node-cidr-mask-size is not allowed with dual-stack clusters")
    if general and own and general != own:
        raise ValueError("--node-cidr-mask-size and the one of its family differ")
    return own or general or _DEFAULT_PREFIX[network.version]


def cidrs_of(node: Node) -> list[str]:
    """Return ``spec.podCIDRs``."""
    spec = node.spec
    if spec is None:
        return []
    return list(spec.podCIDRs or ()) or ([spec.podCIDR] if spec.podCIDR else [])


def cidr_patch(uid: str, cidrs: list[str]) -> Tree:
    """Return the patch that assigns CIDRs to a Node."""
    return {"metadata": {"uid": uid}, "spec": {"podCIDR": cidrs[0], "podCIDRs": cidrs}}
