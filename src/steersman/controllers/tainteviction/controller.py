"""Taint eviction controller: watches pods and Nodes; each eviction is a delayed key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import Node, Pod

from steersman.apimachinery.timestamps import format_time
from steersman.client.changes import Deleted, Updated
from steersman.client.errors import NotFound
from steersman.client.objects import key_of, name_of, split_key, uid_of
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.eviction_metrics import EvictionMetrics
from steersman.controllers.tainteviction.plan import MESSAGE, REASON, Stay, decide, evicting_taints, tolerations_of
from steersman.runtime.result import Result
from steersman.workloads.disruption import disruption_patch
from steersman.workloads.pods import BY_NODE, node_names, node_of

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_REASON: Final = "TaintManagerEviction"
_WORKERS: Final = 8


class TaintEvictionController(ManagedController):
    """Reconciles pods."""

    name: ClassVar[str] = "taint-eviction-controller"
    queue_name: ClassVar[str] = "noexec_taint_pod"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=_WORKERS)
        #: Scheduled evictions by pod key.
        self._stays: dict[str, Stay] = {}
        self._nodes = self.informer(Node)
        self._nodes.add_callback(self._node_changed)
        self._pods = self.informer(Pod)
        self._pods.add_index(BY_NODE, node_names)
        self._pods.add_callback(self._pod_changed)
        self._metrics = EvictionMetrics(context.metrics.registry, subsystem="taint_eviction_controller")

    async def start(self) -> None:
        """Enqueue all pods, as they may have been synced before their Nodes."""
        for node in self._nodes.lister:
            self._enqueue_pods(node)

    def _node_changed(self, change: Change[Node]) -> None:
        """Enqueue the pods of a Node whose taints changed; the pod garbage collector handles deleted Nodes."""
        if isinstance(change, Deleted):
            return
        old = evicting_taints(change.old) if isinstance(change, Updated) else []
        if evicting_taints(change.new) != old:
            self._enqueue_pods(change.new)

    def _enqueue_pods(self, node: Node) -> None:
        for pod in self._pods.lister.by_index(BY_NODE, name_of(node)):
            if evicting_taints(node) or key_of(pod) in self._stays:
                self.enqueue(pod)

    def _pod_changed(self, change: Change[Pod]) -> None:
        if isinstance(change, Updated):
            before, after = change.old, change.new
            if node_of(before) == node_of(after) and tolerations_of(before) == tolerations_of(after):
                return
        pod = change.latest
        node = self._nodes.lister.get(node_of(pod)) if node_of(pod) else None
        if key_of(pod) in self._stays or (node is not None and evicting_taints(node)):
            self.enqueue(pod)

    async def reconcile(self, key: str) -> Result | None:
        """Evict the pod, schedule its eviction, or cancel it."""
        pod = self._pods.lister.by_key(key)
        previous = self._stays.get(key)
        if previous is not None and (
            pod is None or previous.uid != uid_of(pod)
        ):  # deleted; another pod may have its name
            del self._stays[key]
            if not previous.over:
                self._record(key, f"Cancelling deletion of Pod {key}")
            previous = None
        if pod is None:
            return None
        node = self._nodes.lister.get(node_of(pod))
        if node is None and previous is None:
            return None
        now = self.clock.monotonic()
        stay = previous
        if node is not None:
            decision = decide(pod, evicting_taints(node), previous, now=now)
            stay = decision.stay
            if decision.cancelled:
                self._record(key, f"Cancelling deletion of Pod {key}")
        if stay is None:
            self._stays.pop(key, None)
            return None
        self._stays[key] = stay
        if stay.over:
            return None
        if stay.until > now:
            return Result(requeue_after_seconds=stay.until - now)
        await self._evict(key, pod)
        self._metrics.record_deletion(latency_seconds=self.clock.monotonic() - stay.until)
        self._stays[key] = replace(stay, over=True)
        return None

    def _record(self, key: str, text: str) -> None:
        namespace, name = split_key(key)
        reference = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}
        self.events.event(reference, "Normal", _REASON, text)

    async def _evict(self, key: str, pod: Pod) -> None:
        self._record(key, f"Marking for deletion Pod {key}")
        patch = disruption_patch(pod, reason=REASON, message=MESSAGE, now=format_time(self.clock.now()))
        try:
            if patch is not None:
                await self.patch_pod_status(pod, patch)
            await self.client.delete_object(pod, uid=uid_of(pod))
        except NotFound:
            pass


def build(context: ControllerContext) -> TaintEvictionController:
    """Construct the controller."""
    return TaintEvictionController(context)
