"""Node IPAM controller: allocates pod CIDRs to Nodes and releases those of deleted Nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import Node

from steersman.client import PatchType
from steersman.client.changes import Deleted
from steersman.client.errors import ApiError, NotFound
from steersman.client.objects import name_of, uid_of
from steersman.controllers.nodeipam.plan import (
    NodeRanges,
    cidr_patch,
    cidrs_of,
    parse_cluster,
    prefix_for,
)
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext
    from steersman.controllers.options import ControllerOptions

_WORKERS = 30


class NodeIPAMController(ManagedController):
    """Reconciles Nodes by name."""

    name: ClassVar[str] = "node-ipam-controller"
    queue_name: ClassVar[str] = "cidrallocator_node"
    component: ClassVar[str] = "cidrAllocator"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=_WORKERS)
        self._ranges = ranges(context.options)
        #: CIDRs allocated to Nodes without them in the cache: a failed write may have had effect.
        self._allocated: dict[str, list[str]] = {}
        self._nodes = self.informer(Node)
        self._nodes.add_callback(self._node_changed)

    async def start(self) -> None:
        """Mark the CIDRs of existing Nodes as allocated before any allocation."""
        for node in self._nodes.lister:
            self._occupy(node)

    def _node_changed(self, change: Change[Node]) -> None:
        node = change.latest
        if isinstance(change, Deleted):
            self._release([*cidrs_of(node), *self._allocated.pop(name_of(node), ())])
            return
        self._occupy(node)
        self.queue.add(name_of(node))

    def _occupy(self, node: Node) -> None:
        for cidr in cidrs_of(node):
            if not any(node_range.occupy(cidr) for node_range in self._ranges):
                self.log.warning("Node %s has %s, which is none of the cluster's ranges", name_of(node), cidr)

    def _release(self, cidrs: Iterable[str]) -> None:
        """Release CIDRs and enqueue Nodes that could not get one."""
        for cidr in cidrs:
            for node_range in self._ranges:
                node_range.release(cidr)
        for node in self._nodes.lister:
            if not cidrs_of(node):
                self.queue.add(name_of(node))

    async def reconcile(self, key: str) -> None:
        """Allocate CIDRs to a Node without any."""
        node = self._nodes.lister.get(key)
        if node is None:
            return
        has = cidrs_of(node)
        if has:
            unused = [cidr for cidr in self._allocated.pop(key, ()) if cidr not in has]
            if unused:
                self._release(unused)
            return
        if key not in self._allocated:
            if any(node_range.is_full for node_range in self._ranges):
                self._record(node, "CIDRNotAvailable")
                return
            self._allocated[key] = [node_range.take() for node_range in self._ranges]
        patch = cidr_patch(uid_of(node), self._allocated[key])
        try:
            written = await self.client.patch(Node, key, patch, patch_type=PatchType.STRATEGIC)
        except NotFound:
            return
        except ApiError:
            self._record(node, "CIDRAssignmentFailed")
            raise
        self.own_writes.note(key, self._nodes, written)

    def _record(self, node: Node, reason: str) -> None:
        name = name_of(node)
        reference = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid_of(node)}
        self.events.event(reference, "Normal", reason, f"Node {name} status is now: {reason}")


def ranges(options: ControllerOptions) -> list[NodeRanges]:
    """Return the cluster CIDRs, with the service CIDRs marked as allocated. Raises ValueError."""
    if options.cidr_allocator_type != "RangeAllocator":
        raise ValueError(f"--cidr-allocator-type: {options.cidr_allocator_type!r} needs a cloud")
    networks = parse_cluster(options.cluster_cidr)
    node_ranges = [
        NodeRanges(
            network,
            prefix_for(
                network,
                general=options.node_cidr_mask_size,
                ipv4=options.node_cidr_mask_size_ipv4,
                ipv6=options.node_cidr_mask_size_ipv6,
                dual=len(networks) > 1,
            ),
        )
        for network in networks
    ]
    for text in filter(None, options.service_cluster_ip_range.split(",")):
        for node_range in node_ranges:
            node_range.occupy(text.strip())
    return node_ranges


def build(context: ControllerContext) -> NodeIPAMController | None:
    """Construct the controller; None without ``--allocate-node-cidrs``."""
    return NodeIPAMController(context) if context.options.allocate_node_cidrs else None
