"""A node with the pods on it, made ready for scheduling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.scheduler.amounts import CPU, MEMORY, PODS, Amounts, amounts, plus
from steersman.scheduler.pod_info import ANY_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.scheduler.objects import Node
    from steersman.scheduler.pod_info import HostPort, PodInfo

#: Changes of any node, counted: a node's own count tells whether what was worked out for it still holds.
_NEVER: Final = 0


class NodeInfo:
    """Known from the node's object, or only from pods that say they are on it (``node`` is None then)."""

    __slots__ = (
        "allocatable",
        "claims",
        "features",
        "generation",
        "host_ports",
        "images",
        "labels",
        "name",
        "node",
        "pods",
        "pods_max",
        "requested",
        "taints",
        "unschedulable",
        "used",
        "with_affinity",
        "zone",
    )

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.node: Node | None = None
        self.labels: Mapping[str, str] = {}
        self.taints: Sequence[Any] = ()
        self.unschedulable = False
        self.allocatable: Amounts = {}
        self.pods_max = 0
        self.zone = ""
        #: Bytes of the images that the node has, by name.
        self.images: Mapping[str, int] = {}
        #: What it says that it can do (KEP-5328).
        self.features: frozenset[str] = frozenset()
        self.pods: dict[str, PodInfo] = {}
        self.requested: Amounts = {}
        #: CPU and memory, counting a little for pods that ask for nothing.
        self.used: Amounts = {CPU: 0, MEMORY: 0}
        self.host_ports: dict[HostPort, int] = {}
        #: Pods on it that like others near or far, or must have them near.
        self.with_affinity: dict[str, PodInfo] = {}
        #: Claims in use here (``namespace/name``), and by how many pods.
        self.claims: dict[str, int] = {}
        self.generation = _NEVER

    def set_node(self, node: Node) -> bool:
        """Take over a new state of the node's object; whether rules can tell it from the last."""
        before = None if self.node is None else self._facts()
        spec, status = node.spec, node.status
        self.node = node
        self.labels = node.metadata.labels or {}
        self.taints = (spec.taints if spec is not None else None) or ()
        self.unschedulable = bool(spec is not None and spec.unschedulable)
        self.allocatable = amounts(status.allocatable if status is not None else None)
        self.pods_max = self.allocatable.pop(PODS, 0)
        self.zone = zone_of(self.labels)
        self.images = {
            name: image.sizeBytes or 0
            for image in (status.images if status is not None else None) or ()
            for name in image.names or ()
        }
        self.features = frozenset((status.declaredFeatures if status is not None else None) or ())
        return before != self._facts()

    def _facts(self) -> tuple[Any, ...]:
        """What rules look at."""
        return (
            self.labels, self.taints, self.unschedulable, self.allocatable, self.pods_max, self.images, self.features
        )  # fmt: skip

    def add(self, pod: PodInfo) -> None:
        """Put a pod on it."""
        self.pods[pod.uid] = pod
        self._count(pod, 1)
        if pod.draws:
            self.with_affinity[pod.uid] = pod

    def remove(self, uid: str) -> PodInfo | None:
        """Take a pod off it; None when it is not here."""
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self._count(pod, -1)
            self.with_affinity.pop(uid, None)
        return pod

    def _count(self, pod: PodInfo, sign: int) -> None:
        plus(self.requested, pod.requests.items(), sign)
        plus(self.used, pod.usage.items(), sign)
        for port in pod.host_ports:
            _tally(self.host_ports, port, sign)
        for claim in pod.claims:
            _tally(self.claims, f"{pod.namespace}/{claim}", sign)

    def port_taken(self, port: HostPort) -> bool:
        """Whether a host port cannot be had: the same one is taken, and one of both is for all addresses or both for one."""
        address, protocol, number = port
        if address == ANY_ADDRESS:
            return any(taken[1:] == (protocol, number) for taken in self.host_ports)
        return port in self.host_ports or (ANY_ADDRESS, protocol, number) in self.host_ports

    def copy(self) -> NodeInfo:
        """One to try changes on."""
        twin = NodeInfo(self.name)
        for name in (
            "node",
            "labels",
            "taints",
            "unschedulable",
            "allocatable",
            "pods_max",
            "zone",
            "images",
            "features",
        ):
            setattr(twin, name, getattr(self, name))
        for name in ("pods", "requested", "used", "host_ports", "with_affinity", "claims"):
            setattr(twin, name, dict(getattr(self, name)))
        twin.generation = self.generation
        return twin


def _tally(counts: dict[Any, int], key: Any, sign: int) -> None:
    left = counts.get(key, 0) + sign
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)


def zone_of(labels: Mapping[str, str]) -> str:
    """Region and zone together; empty when a node tells neither."""
    region = labels.get("topology.kubernetes.io/region") or labels.get("failure-domain.beta.kubernetes.io/region", "")
    zone = labels.get("topology.kubernetes.io/zone") or labels.get("failure-domain.beta.kubernetes.io/zone", "")
    return f"{region}:\0:{zone}" if region or zone else ""
