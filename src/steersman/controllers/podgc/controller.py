"""Pod garbage collector: watches pods and Nodes; a missing Node is verified again after its quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import Node, Pod
from prometheus_client import Counter

from steersman.apimachinery.timestamps import format_time
from steersman.client.changes import Deleted
from steersman.client.errors import ClientError, NotFound
from steersman.client.objects import key_of, name_of, namespace_of, uid_of
from steersman.controllers.podgc.plan import (
    NODE_GONE,
    QUARANTINE_SECONDS,
    UNSCHEDULED_SECONDS,
    failed_patch,
    is_out_of_service,
    is_unscheduled_and_terminating,
    node_key,
    surplus,
    terminating_pods,
)
from steersman.controllers.shared.base import ManagedController
from steersman.workloads.pods import is_finished, node_of

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_BY_NODE: Final = "podgc node"
_NODE: Final = "node:"
_POD: Final = "pod:"
_ENDED: Final = "ended"
#: Delay that batches terminated pods.
_SETTLE_SECONDS: Final = 1.0


class PodGarbageCollector(ManagedController):
    """Reconciles ``node:NAME``, ``pod:NAMESPACE/NAME`` and ``ended``."""

    name: ClassVar[str] = "pod-garbage-collector-controller"
    queue_name: ClassVar[str] = "orphaned_pods_nodes"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._nodes = self.informer(Node)
        self._nodes.add_callback(self._node_changed)
        self._pods = self.informer(Pod)
        self._pods.add_index(_BY_NODE, node_key)
        self._pods.add_callback(self._pod_changed)
        self._deletions = Counter(
            "pod_gc_collector_force_delete_pods_total", "Pods deleted by force since the controller started",
            ("namespace", "reason"), registry=context.metrics.registry,
        )  # fmt: skip
        self._errors = Counter(
            "pod_gc_collector_force_delete_pod_errors_total", "Errors of deleting pods by force since the controller started",
            ("namespace", "reason"), registry=context.metrics.registry,
        )  # fmt: skip

    async def start(self) -> None:
        """Enqueue all pods' Nodes, as pods may have been synced first."""
        for name in {node_of(pod) for pod in self._pods.lister}:
            self._check_node(name)

    def _node_changed(self, change: Change[Node]) -> None:
        name = name_of(change.latest)
        if isinstance(change, Deleted):
            self.queue.add_after(_NODE + name, QUARANTINE_SECONDS)
        elif is_out_of_service(change.new):
            self.queue.add(_NODE + name)

    def _pod_changed(self, change: Change[Pod]) -> None:
        if isinstance(change, Deleted):
            return
        pod = change.new
        if is_unscheduled_and_terminating(pod):
            self.queue.add_after(_POD + key_of(pod), UNSCHEDULED_SECONDS)
        if is_finished(pod):
            self.queue.add_after(_ENDED, _SETTLE_SECONDS)
        if self._nodes.has_synced:
            self._check_node(node_of(pod))

    def _check_node(self, name: str) -> None:
        """Process the pods of a Node that is missing or out of service."""
        node = self._nodes.lister.get(name) if name else None
        if name and node is None:
            self.queue.add_after(_NODE + name, QUARANTINE_SECONDS)
        elif is_out_of_service(node):
            self.queue.add(_NODE + name)

    async def reconcile(self, key: str) -> None:
        """Delete the pods of a key as far as the rules require."""
        if key == _ENDED:
            for pod in surplus(self._pods.lister, threshold=self.options.terminated_pod_gc_threshold):
                await self._end(pod, "terminated")
        elif key.startswith(_NODE):
            await self._reconcile_node(key.removeprefix(_NODE))
        else:
            cached_pod = self._pods.lister.by_key(key.removeprefix(_POD))
            if cached_pod is not None and is_unscheduled_and_terminating(cached_pod):
                await self._end(cached_pod, "unscheduled")

    async def _reconcile_node(self, name: str) -> None:
        pods = list(self._pods.lister.by_index(_BY_NODE, name))
        node = self._nodes.lister.get(name)
        if node is not None:
            for pod in terminating_pods(pods) if is_out_of_service(node) else ():
                await self._end(pod, "out-of-service")
        elif pods and not await self._exists(name):
            for pod in pods:
                await self._end(pod, "orphaned", disruption=NODE_GONE)

    async def _exists(self, name: str) -> bool:
        try:
            await self.client.get(Node, name)
        except NotFound:
            return False
        return True

    async def _end(self, pod: Pod, reason: str, *, disruption: tuple[str, str] | None = None) -> None:
        """Set the phase Failed, which the pod's controller observes, and delete the pod without grace; ``reason`` for the metric."""
        patch = failed_patch(pod, now=format_time(self.clock.now()), disruption=disruption)
        try:
            if patch is not None:
                await self.patch_pod_status(pod, patch)
            await self.client.delete_object(pod, uid=uid_of(pod), grace_period_seconds=0)
            self._deletions.labels(namespace_of(pod), reason).inc()
        except NotFound:  # retried after a conflict, as there is no periodic sync
            pass
        except ClientError:
            self._errors.labels(namespace_of(pod), reason).inc()
            raise


def build(context: ControllerContext) -> PodGarbageCollector:
    """Construct the controller."""
    return PodGarbageCollector(context)
