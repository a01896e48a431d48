"""Scenario of Node settings by number: pod CIDRs, and the TTL annotation."""

from __future__ import annotations

from collections import Counter
from ipaddress import ip_network
from typing import Any

from lightkube.models.core_v1 import Node
from tests.conformance.histories import Edits, Scenario, World

from steersman.client.objects import annotations_of, name_of

#: Services have a quarter of it: 96 single-address ranges for as many Nodes. IPv6 has some more.
CLUSTER = ("10.0.0.0/25", "fd00::/121")
SERVICES = "10.0.0.0/27"
RANGES = 96
_TTL = "node.alpha.kubernetes.io/ttl"


class Ranges(Scenario):
    """Nodes come and go, one or many at once, about as many as there are ranges; some have a range of their own."""

    controllers = ("node-ipam-controller", "ttl-controller")
    options = {
        "allocate_node_cidrs": True, "cluster_cidr": ",".join(CLUSTER), "service_cluster_ip_range": SERVICES,
        "node_cidr_mask_size_ipv4": 32, "node_cidr_mask_size_ipv6": 128,
    }  # fmt: skip

    def __init__(self) -> None:
        self._created_count = 0
        #: CIDRs that two Nodes ever had at once.
        self._shared: set[str] = set()

    def edits(self) -> Edits:
        return [self.make_some, self.make_some, self.make_one, self.make_one, self.remove_some,
                self.remove_one, self.replace, self.replace, self.assign, self.break_ttl]  # fmt: skip

    async def live(self, world: World) -> None:
        """Check that no two Nodes share a CIDR."""
        cidr_counts = Counter(cidr for node in await world.client.list(Node) for cidr in node.spec.podCIDRs or ())
        self._shared |= {cidr for cidr, count in cidr_counts.items() if count > 1}

    async def make_some(self, world: World) -> None:
        for _ in range(world.dice.choice([5, 20, 50])):
            await self.make_one(world)

    async def make_one(self, world: World) -> None:
        self._created_count += 1
        await self._make(world, f"n{self._created_count}")

    async def _make(self, world: World, name: str) -> None:
        body: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        if world.dice.random() < 0.1:
            body["spec"] = self._own(world)
        await world.client.create(body)

    def _own(self, world: World) -> dict[str, Any]:
        """Return a CIDR outside the controller's range, so that no other Node can get it meanwhile."""
        self._created_count += 1
        high, low = divmod(self._created_count, 256)
        cidrs = [f"192.168.{high}.{low}/32", f"fd01::{self._created_count:x}/128"]
        return {"podCIDR": cidrs[0], "podCIDRs": cidrs}

    async def _some(self, world: World, count: int) -> list[str]:
        names = [name_of(node) for node in await world.client.list(Node)]
        return world.dice.sample(names, min(count, len(names)))

    async def remove_some(self, world: World) -> None:
        for name in await self._some(world, world.dice.choice([5, 15, 40])):
            await world.client.delete(Node, name)

    async def remove_one(self, world: World) -> None:
        for name in await self._some(world, 1):
            await world.client.delete(Node, name)

    async def replace(self, world: World) -> None:
        """Recreate a Node under its name."""
        for name in await self._some(world, world.dice.choice([1, 5])):
            await world.client.delete(Node, name)
            await self._make(world, name)

    async def assign(self, world: World) -> None:
        """Set CIDRs on a Node without any, before the controller does."""
        for node in await world.client.list(Node):
            if not node.spec.podCIDRs:
                await world.client.patch(Node, name_of(node), {"spec": self._own(world)})
                return

    async def break_ttl(self, world: World) -> None:
        for name in await self._some(world, 1):
            value = world.dice.choice([None, "99"])
            await world.client.patch(Node, name, {"metadata": {"annotations": {_TTL: value}}})

    async def wrong(self, world: World) -> str:
        if self._shared:
            return f"two Nodes had {sorted(self._shared)}"
        nodes = await world.client.list(Node)
        return self._wrong_ranges(nodes) or self._wrong_ttl(nodes)

    def _wrong_ranges(self, nodes: list[Node]) -> str:
        first, clusters = 0, [ip_network(cidr) for cidr in CLUSTER]
        waiting = [name_of(node) for node in nodes if not node.spec.podCIDRs]
        for node in nodes:
            ranges = [ip_network(cidr) for cidr in node.spec.podCIDRs or ()]
            if not ranges or str(ranges[0]).startswith("192.168."):
                continue
            are_inside = len(ranges) == 2 and all(map(_contains, clusters, ranges))
            if not are_inside or _contains(ip_network(SERVICES), ranges[0]) or node.spec.podCIDR != str(ranges[0]):
                return f"{name_of(node)} has {node.spec.podCIDRs}, first of all {node.spec.podCIDR}"
            first += 1
        return f"{waiting} wait for ranges, and {RANGES - first} are free" if waiting and first < RANGES else ""

    def _wrong_ttl(self, nodes: list[Node]) -> str:
        """Return faulty TTLs; within a step's hysteresis the value depends on the past."""
        reported = {annotations_of(node).get(_TTL) for node in nodes}
        allowed = ({"0"} if len(nodes) <= 100 else set()) | ({"15"} if len(nodes) >= 90 else set())
        return f"{len(nodes)} Nodes are told {reported}" if len(reported) > 1 or not reported <= allowed else ""


def _contains(outer: Any, inner: Any) -> bool:
    return outer.version == inner.version and inner.subnet_of(outer)
