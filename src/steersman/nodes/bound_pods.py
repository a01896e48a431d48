"""Base class of the controllers of pods that are bound to simulated nodes."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from steersman.client import tree
from steersman.client.changes import Deleted
from steersman.client.objects import name_of, uid_of
from steersman.nodes.node_object import is_simulated, is_stopped
from steersman.nodes.pod_status import spec_of, status_of
from steersman.runtime.controller import Controller

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.client.store import Lister
    from steersman.nodes.pod_addresses import PodAddresses
    from steersman.nodes.pod_admission import PodAdmission
    from steersman.runtime.context import ControllerContext


PODS: Final = tree("v1", "Pod")
NODES: Final = tree("v1", "Node")

#: Index of pods by the name of their node.
_BY_NODE: Final = "node"


class BoundPodController(Controller):
    """Controller of pods for which ``concerns`` is true, on simulated nodes that are not stopped.

    A pod is reconciled after its own changes, when its node is added or started, and when admission requests it.
    """

    def __init__(
        self, context: ControllerContext, *, workers: int, addresses: PodAddresses, admission: PodAdmission
    ) -> None:
        """``addresses`` and ``admission`` are shared by all controllers of pods on the same nodes."""
        super().__init__(context, workers=workers)
        self._addresses: Final = addresses
        self._admission: Final = admission
        admission.add_listener(self._requeue)
        self._nodes: Final = self.informer(NODES)
        self._nodes.add_callback(self._node_changed)
        self._pods: Final = self.watch(PODS, when=self._concerns_change)
        self._pods.add_index(_BY_NODE, _node_names)

    @abstractmethod
    def concerns(self, pod: Tree, node: Tree) -> bool:
        """True if this controller manages a pod on its node."""

    def pod_deleted(self, pod: Tree) -> None:
        """Release the pod's address and resources."""
        self._addresses.forget(uid_of(pod))
        self._admission.forget(uid_of(pod))

    async def start(self) -> None:
        """Adopt addresses and resources of existing pods before allocating any; enqueue pods observed before their node."""
        _adopt_addresses(self._addresses, self._pods.lister, self._nodes.lister)
        for pod in self._pods.lister:
            node = self._node_of(pod)
            if node is not None:
                self._admission.adopt(pod, node)
                self.enqueue(pod)

    def _node_of(self, pod: Tree) -> Tree | None:
        """Return the node of a pod that this controller manages; None for other pods."""
        name = spec_of(pod).get("nodeName")
        node = self._nodes.lister.get(name) if name else None
        if node is None or not is_simulated(node) or is_stopped(node):
            return None
        return node if self.concerns(pod, node) else None

    def _address_of(self, pod: Tree, node: Tree) -> str:
        """Return the pod's address; allocate one if it has none."""
        return _pod_address(pod, node, self._addresses)

    # Event handlers

    def _concerns_change(self, change: Change[Tree]) -> bool:
        if isinstance(change, Deleted):
            self.pod_deleted(change.latest)
            return False
        self._admission.observe(change.latest, old=getattr(change, "old", None))
        return self._node_of(change.latest) is not None

    def _node_changed(self, change: Change[Tree]) -> None:
        """Enqueue the pods of a node that was added or started."""
        old = getattr(change, "old", None)
        if isinstance(change, Deleted) or (old is not None and is_stopped(old) == is_stopped(change.new)):
            return
        if self.is_ready:
            for pod in self._pods.lister.by_index(_BY_NODE, name_of(change.new)):
                if self._node_of(pod) is not None:
                    self.enqueue(pod)

    def _requeue(self, key: str) -> None:
        """Requeue a pod that is preempted, or whose wait has ended."""
        self.queue.add(key)


def _node_names(pod: Tree) -> list[str]:
    return [spec_of(pod).get("nodeName") or ""]


def _pod_address(pod: Tree, node: Tree, addresses: PodAddresses) -> str:
    cidr = (node.get("spec") or {}).get("podCIDR") or ""
    return addresses.of(uid_of(pod), cidr, current=status_of(pod).get("podIP") or "")


def _adopt_addresses(addresses: PodAddresses, pods: Lister[Tree], nodes: Lister[Tree]) -> None:
    """Mark the addresses of existing pods on simulated nodes as allocated, including pods that another controller
    manages.
    """
    for pod in pods:
        node = nodes.get(spec_of(pod).get("nodeName") or "")
        is_allocated_here = node is not None and is_simulated(node) and not spec_of(pod).get("hostNetwork")
        if node is not None and is_allocated_here and status_of(pod).get("podIP"):
            _pod_address(pod, node, addresses)
