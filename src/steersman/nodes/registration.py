"""Node registration, Lease heartbeats and periodic node status updates. Upstream: pkg/kubelet/kubelet_node_status.go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.asynckit.tasks import Supervisor
from steersman.client.changes import Deleted
from steersman.client.errors import AlreadyExists, NotFound
from steersman.client.objects import name_of, uid_of
from steersman.client.requests import PatchType
from steersman.nodes.bound_pods import NODES
from steersman.nodes.node_object import (
    KubeletAddress,
    NodeTemplate,
    allocatable_changes,
    internal_ip,
    is_simulated,
    is_stopped,
    new_node,
    new_status,
    refresh_conditions,
)
from steersman.nodes.pod_addresses import NODE_RANGE, AddressPool
from steersman.runtime.controller import Controller
from steersman.runtime.heartbeat import LeaseHeartbeat

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.result import Result


LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_DURATION_SECONDS: Final = 40
RENEW_INTERVAL_SECONDS: Final = 10.0
#: Interval of status updates without changes (``nodeStatusReportFrequency``).
STATUS_REPORT_SECONDS: Final = 300.0
_WORKERS: Final = 32


class NodeController(Controller):
    """Register the ``desired`` nodes, and send heartbeats of every node with the annotation of simulated nodes."""

    name: ClassVar[str] = "simulated-nodes"

    def __init__(
        self,
        context: ControllerContext,
        desired: Mapping[str, NodeTemplate],
        *,
        reports_status: bool = True,
        kubelet: KubeletAddress | None = None,
        renew_interval_seconds: float = RENEW_INTERVAL_SECONDS,
    ) -> None:
        """Create the controller. ``kubelet`` is the address of the nodes' kubelet for API servers; None without a kubelet.
        Without ``reports_status`` stages write the node status: nodes are registered without conditions, with heartbeats.
        ``renew_interval_seconds`` of the nodes' Leases must be less than ``LEASE_DURATION_SECONDS``.
        """
        super().__init__(context, workers=_WORKERS)
        self._kubelet = kubelet
        self._renew_interval_seconds = renew_interval_seconds
        self._desired = dict(desired)
        self._reports_status = reports_status
        self._ips = AddressPool(NODE_RANGE)
        self._heartbeat_tasks = Supervisor("node heartbeats")
        self._heartbeats: dict[str, asyncio.Task[Any]] = {}
        self._first_ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reports = self.add_queue(f"{self.name}-status", self._report, workers=_WORKERS)
        self._nodes = self.watch(NODES, when=self._concerns_us)
        if reports_status:
            self.every(STATUS_REPORT_SECONDS, self._report_all, jitter=0.1, name="node status")

    def _concerns_us(self, change: Change[Tree]) -> bool:
        if isinstance(change, Deleted):
            self._stop_heartbeat(name_of(change.latest))
            self._ips.release(name_of(change.latest), internal_ip(change.latest))
        else:
            self._ips.assigned(name_of(change.latest), internal_ip(change.latest))
        return is_simulated(change.latest) or name_of(change.latest) in self._desired

    async def start(self) -> None:
        """Enqueue the desired nodes."""
        for name in self._desired:
            self.queue.add(name)

    async def run(self) -> None:
        """Run until ``stop``; heartbeats stop on return."""
        try:
            await super().run()
        finally:
            await self._heartbeat_tasks.close()

    async def reconcile(self, key: str) -> Result | None:
        """Register a missing node, initialize its status, and start its heartbeat."""
        node = self._nodes.lister.get(key)
        if node is None:
            await self._register(key)
            return None
        if is_stopped(node):
            self._stop_heartbeat(key)
            return None
        status = node.get("status") or {}
        status_by_type = {
            condition.get("type"): condition.get("status") for condition in status.get("conditions") or ()
        }
        needs_status = not status.get("allocatable") or status_by_type.get("Ready") in (None, "Unknown")
        if needs_status and self._reports_status:
            await self._initialize_status(node)
        elif self._reports_status and (changes := allocatable_changes(status, self._reserved(key))):
            await self._patch(key, {"allocatable": changes})
        elif self._kubelet is not None and not self._kubelet.is_set_on(node):
            await self._patch_kubelet(node, self._kubelet)
        if key not in self._heartbeats:
            self._heartbeats[key] = self._heartbeat_tasks.start(f"node {key}", self._heartbeat(node).run())
        if status_by_type.get("Ready") == "True" and not self._first_ready.done():
            self._first_ready.set_result(key)
        return None

    async def wait_node_ready(self) -> str:
        """Wait until a node is Ready and this controller sends its heartbeat; return its name.

        The condition alone may be from an earlier run.
        """
        return await asyncio.shield(self._first_ready)

    async def move_kubelet(self, port: int) -> None:
        """Publish another port of the kubelet on all nodes; no effect without a kubelet. Raises ``ApiError``."""
        if self._kubelet is None:
            return
        self._kubelet = self._kubelet._replace(port=port)
        for node in self._nodes.lister.list():
            if is_simulated(node):
                await self._patch_kubelet(node, self._kubelet)

    async def _register(self, name: str) -> None:
        template = self._desired.get(name)
        if template is None:
            return
        node = new_node(template, name, ip=self._ips.reserve(name), now=self.clock.now())
        if self._kubelet is not None:
            self._kubelet.set_on(node)
        if not self._reports_status:
            del node["status"]["conditions"], node["status"]["phase"]
        try:
            self.own_writes.note(name, self._nodes, await self.client.create(node))
        except AlreadyExists:
            return

    def _reserved(self, name: str) -> Collection[str]:
        """Return the resources with explicit allocatable amounts in the node's template."""
        template = self._desired.get(name)
        return template.allocatable if template is not None else ()

    async def _initialize_status(self, node: Tree) -> None:
        name = name_of(node)
        template = self._desired.get(name) or NodeTemplate()
        ip = internal_ip(node) or self._ips.reserve(name)
        status = new_status(template, name, ip=ip, now=self.clock.now(), previous=node.get("status"))
        await self._patch(name, status, kubelet=self._kubelet)

    async def _report_all(self) -> None:
        for node in self._nodes.lister.list():
            self._reports.add(name_of(node))

    async def _report(self, name: str) -> None:
        """Update the conditions of a simulated node with a heartbeat; the queue retries a failed update."""
        node = self._nodes.lister.get(name)
        if node is not None and is_simulated(node) and not is_stopped(node) and name in self._heartbeats:
            conditions = (node.get("status") or {}).get("conditions") or ()
            await self._patch(name, {"conditions": refresh_conditions(conditions, now=self.clock.now())})

    async def _patch_kubelet(self, node: Tree, address: KubeletAddress) -> None:
        await self._patch(name_of(node), {"addresses": node["status"].get("addresses") or []}, kubelet=address)

    async def _patch(self, name: str, status: Tree, *, kubelet: KubeletAddress | None = None) -> None:
        patch = {"status": status}
        if kubelet is not None:
            kubelet.set_on(patch)
        try:
            written = await self.client.patch(NODES, name, patch, patch_type=PatchType.STRATEGIC, subresource="status")
        except NotFound:
            return
        self.own_writes.note(name, self._nodes, written)

    def _heartbeat(self, node: Tree) -> LeaseHeartbeat:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name_of(node), "uid": uid_of(node)}

        def set_owner(lease: Tree) -> None:
            lease["metadata"]["ownerReferences"] = [owner]

        return LeaseHeartbeat(
            self.client,
            holder_identity=name_of(node),
            lease_duration_seconds=LEASE_DURATION_SECONDS,
            renew_interval_seconds=self._renew_interval_seconds,
            namespace=LEASE_NAMESPACE,
            process_lease=set_owner,
            metrics=self.context.metrics.heartbeats,
            clock=self.clock,
            dice=self.dice,
        )

    def _stop_heartbeat(self, name: str) -> None:
        task = self._heartbeats.pop(name, None)
        if task is not None:
            task.cancel()
