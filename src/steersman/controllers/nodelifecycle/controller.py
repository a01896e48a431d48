"""Node lifecycle controller: watches Nodes, Leases and pods; one timer per Node grace period instead of polling."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.coordination_v1 import Lease
from lightkube.models.core_v1 import Node, Pod

from steersman.apimachinery.timestamps import format_time
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.errors import NotFound
from steersman.client.objects import key_of, name_of, uid_of
from steersman.controllers.nodelifecycle.health import LEASE_NAMESPACE, GracePeriods, Health
from steersman.controllers.nodelifecycle.plan import (
    eviction_key,
    is_evicting,
    ready_status,
    silent,
    spec_patch,
    unready_patch,
    unready_pods,
)
from steersman.controllers.nodelifecycle.rate_limited_queue import RateLimitedQueue
from steersman.controllers.nodelifecycle.zones import Rates, Zones, is_counted, zone_of
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result
from steersman.workloads.pods import BY_NODE, node_names, node_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_POD: Final = "pod:"
#: Delay before the first eviction, so that Nodes that fail simultaneously are all counted.
_SETTLE_SECONDS: Final = 1.0


class NodeLifecycleController(ManagedController):
    """Reconciles Nodes by name, and newly bound pods by ``pod:`` and key."""

    name: ClassVar[str] = "node-lifecycle-controller"
    queue_name: ClassVar[str] = "node_lifecycle_controller"
    component: ClassVar[str] = "node-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=8)
        options = self.options
        self._grace = GracePeriods(options.node_monitor_grace_period_seconds, options.node_startup_grace_period_seconds)
        self._rates = Rates(
            options.node_eviction_rate,
            options.secondary_node_eviction_rate,
            options.unhealthy_zone_threshold,
            options.large_cluster_size_threshold,
        )
        self._zones = Zones(self._rates)
        self._taint_queues: dict[str, RateLimitedQueue] = {}
        #: Nodes admitted by the rate limiter that are not tainted yet.
        self._admitted: set[str] = set()
        self._health: dict[str, Health] = {}
        #: Unready Nodes with pods that are not marked unready yet.
        self._unmarked: set[str] = set()
        #: True if no zone has a healthy Node; None before the first check.
        self._all_down: bool | None = None
        self._nodes = self.informer(Node)
        self._leases = self.informer(Lease, namespace=LEASE_NAMESPACE)
        self._pods = self.informer(Pod)
        self._pods.add_index(BY_NODE, node_names)
        self._nodes.add_callback(self._node_changed)
        self._leases.add_callback(self._lease_changed)
        self._pods.add_callback(self._pod_changed)

    async def start(self) -> None:
        """Compute the zone states from all Nodes."""
        self._all_down = False
        self._update_zone_rates()

    def stop(self) -> None:
        """Stop the zone's queues."""
        for queue in self._taint_queues.values():
            queue.close()
        super().stop()

    # Event handlers

    def _node_changed(self, change: Change[Node]) -> None:
        node = change.latest
        name = name_of(node)
        if isinstance(change, Deleted):
            self._forget(change.old)
        else:
            if isinstance(change, Added):
                self._record(node, "RegisteredNode", "Registered Node {} in Controller")
            self._observe(node)
        self.queue.add(name)

    def _observe(self, node: Node) -> None:
        name, monotonic = name_of(node), self.clock.monotonic()
        health = self._health.get(name)
        if health is None:
            self._health[name] = health = Health.of(node, now=self.clock.now(), monotonic=monotonic)
        health.observe(node, monotonic=monotonic)
        health.renew(self._leases.lister.get(name, namespace=LEASE_NAMESPACE), monotonic=monotonic)
        if is_counted(node):
            news = self._zones.put(name, zone_of(node), ready=ready_status(node) == "True")
        else:
            news = self._zones.remove(name)
        if news:
            self._update_zone_rates()

    def _forget(self, node: Node) -> None:
        name = name_of(node)
        self._record(node, "RemovingNode", "Removing Node {} from Controller")
        self._health.pop(name, None)
        self._withdraw(name)
        self._unmarked.discard(name)
        if self._zones.remove(name):
            self._update_zone_rates()

    def _record(self, node: Node, reason: str, text: str) -> None:
        name = name_of(node)
        reference = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid_of(node)}
        self.events.event(reference, "Normal", reason, f"Node {name} event: {text.format(name)}")

    def _lease_changed(self, change: Change[Lease]) -> None:
        health = self._health.get(name_of(change.latest))
        if health is not None and not isinstance(change, Deleted):
            health.renew(change.new, monotonic=self.clock.monotonic())

    def _pod_changed(self, change: Change[Pod]) -> None:
        if isinstance(change, Deleted) or not node_of(change.new):
            return
        if isinstance(change, Updated) and node_of(change.old) == node_of(change.new):
            return
        node = self._nodes.lister.get(node_of(change.new))
        if node is None or ready_status(node) != "True":
            self.queue.add(_POD + key_of(change.new))

    # Zones

    def _update_zone_rates(self) -> None:
        """Update the zones' rates; enqueue every Node if all zones went down, or one recovered."""
        if self._all_down is None:
            return
        was_down, self._all_down = self._all_down, self._zones.all_down()
        if was_down and not self._all_down:
            for health in self._health.values():
                health.heard_at = self.clock.monotonic()
        for zone in self._zones.counts:
            self._queue_of(zone)
        for zone, queue in self._taint_queues.items():
            queue.set_rate(self._zones.rate(zone))
        if was_down != self._all_down:
            for name in self._nodes.lister.keys():  # noqa: SIM118 — a lister is no mapping
                self.queue.add(name)

    def _queue_of(self, zone: str) -> RateLimitedQueue:
        if zone not in self._taint_queues:
            rate = self._zones.rate(zone)
            self._taint_queues[zone] = RateLimitedQueue(
                rate, clock=self.clock, call=self._admit, settle_seconds=_SETTLE_SECONDS
            )
        return self._taint_queues[zone]

    def _admit(self, name: str) -> None:
        self._admitted.add(name)
        self.queue.add(name)

    def _withdraw(self, name: str) -> None:
        self._admitted.discard(name)
        for queue in self._taint_queues.values():
            queue.remove(name)

    def _may_evict(self, node: Node) -> bool:
        name = name_of(node)
        if not eviction_key(node) or self._all_down:
            self._withdraw(name)
            return False
        if is_evicting(node):
            self._withdraw(name)
            return True
        if name not in self._admitted:
            self._queue_of(zone_of(node)).add(name)
        return name in self._admitted

    # Writes

    async def reconcile(self, key: str) -> Result | None:
        """Set conditions, labels and taints of the Node by its health."""
        if key.startswith(_POD):
            await self._reconcile_pod(key.removeprefix(_POD))
            return None
        node = self._nodes.lister.get(key)
        health = self._health.get(key)
        if node is None or health is None:
            return None
        left_seconds = health.seconds_left(self._grace, monotonic=self.clock.monotonic())
        if left_seconds <= 0:
            node = await self._mark_silent(key, node)
        if key in self._unmarked:
            await self._mark_pods_unready(key, node)
        await self._write_spec(key, node)
        return Result(requeue_after_seconds=left_seconds) if left_seconds > 0 else None

    async def _mark_silent(self, key: str, node: Node) -> Node:
        desired_status = silent(node, now=self.now())
        if desired_status is None:
            return node
        written = await self.client.update_status(desired_status)
        self.own_writes.note(key, self._nodes, written)
        self._observe(written)  # the zone is updated before its consequences
        if ready_status(node) == "True":
            reference = {"apiVersion": "v1", "kind": "Node", "name": key, "uid": uid_of(node)}
            self.events.event(reference, "Normal", "NodeNotReady", f"Node {key} status is now: NodeNotReady")
            self._unmarked.add(key)
        return written

    async def _write_spec(self, key: str, node: Node) -> None:
        evict = self._may_evict(node)
        patch = spec_patch(node, evict=evict, now=self.now())
        if patch is None:
            return
        try:
            written = await self.client.patch(Node, key, patch)
        except NotFound:
            return
        self.own_writes.note(key, self._nodes, written)

    async def _mark_pods_unready(self, name: str, node: Node) -> None:
        if ready_status(node) != "True":
            await self._mark_unready(self._pods.lister.by_index(BY_NODE, name))
        self._unmarked.discard(name)

    async def _reconcile_pod(self, key: str) -> None:
        pod = self._pods.lister.by_key(key)
        node = self._nodes.lister.get(node_of(pod)) if pod is not None else None
        if pod is not None and node is not None and ready_status(node) in ("False", "Unknown"):
            await self._mark_unready([pod])

    async def _mark_unready(self, pods: Iterable[Pod]) -> None:
        for pod in unready_pods(pods):
            patch = unready_patch(pod, now=format_time(self.clock.now()))
            try:
                await self.patch_pod_status(pod, patch)
            except NotFound:
                continue
            self.events.event(pod, "Warning", "NodeNotReady", "Node is not ready")


def build(context: ControllerContext) -> NodeLifecycleController:
    """Construct the controller."""
    return NodeLifecycleController(context)
