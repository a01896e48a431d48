"""A node with its pods, precomputed for scheduling. Upstream: ``NodeInfo`` in pkg/scheduler/framework/types.go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.workloads.host_ports import is_taken
from steersman.workloads.resources import CPU, MEMORY, PODS, ResourceList, add_resources, parse_resource_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.scheduler.objects import Node
    from steersman.scheduler.pod_info import PodInfo
    from steersman.workloads.host_ports import HostPort

#: Generation of a node that has not changed yet; cached results hold for one generation.
_NEVER: Final = 0


class NodeInfo:
    """A node and the pods assigned to it; ``node`` is None while only its pods are known."""

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
        "nonzero_requested",
        "pods",
        "pods_max",
        "requested",
        "taints",
        "unschedulable",
        "with_affinity",
        "zone",
    )

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.node: Node | None = None
        self.labels: Mapping[str, str] = {}
        self.taints: Sequence[Any] = ()
        self.unschedulable = False
        self.allocatable: ResourceList = {}
        self.pods_max = 0
        self.zone = ""
        #: Image sizes in bytes by name.
        self.images: Mapping[str, int] = {}
        #: Declared features (KEP-5328).
        self.features: frozenset[str] = frozenset()
        self.pods: dict[str, PodInfo] = {}
        self.requested: ResourceList = {}
        #: CPU and memory with defaults for containers without requests (upstream: ``NonZeroRequested``).
        self.nonzero_requested: ResourceList = {CPU: 0, MEMORY: 0}
        self.host_ports: dict[HostPort, int] = {}
        #: Pods with required affinity or preferred (anti-)affinity terms, which affect the scores of incoming pods.
        self.with_affinity: dict[str, PodInfo] = {}
        #: Number of pods per PersistentVolumeClaim (``namespace/name``).
        self.claims: dict[str, int] = {}
        self.generation = _NEVER

    def set_node(self, node: Node) -> bool:
        """Update from the Node object; return True if anything that plugins read has changed."""
        before = None if self.node is None else self._facts()
        spec, status = node.spec, node.status
        self.node = node
        self.labels = node.metadata.labels or {}
        self.taints = (spec.taints if spec is not None else None) or ()
        self.unschedulable = bool(spec is not None and spec.unschedulable)
        self.allocatable = parse_resource_list(status.allocatable if status is not None else None)
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
        """Return everything that plugins read."""
        return (
            self.labels, self.taints, self.unschedulable, self.allocatable, self.pods_max, self.images, self.features
        )  # fmt: skip

    def add(self, pod: PodInfo) -> None:
        """Add a pod."""
        self.pods[pod.uid] = pod
        self._count(pod, 1)
        if pod.affects_affinity_scores:
            self.with_affinity[pod.uid] = pod

    def remove(self, uid: str) -> PodInfo | None:
        """Remove a pod and return it; None if it is not on the node."""
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self._count(pod, -1)
            self.with_affinity.pop(uid, None)
        return pod

    def _count(self, pod: PodInfo, sign: int) -> None:
        add_resources(self.requested, pod.requests.items(), sign)
        add_resources(self.nonzero_requested, pod.nonzero_requests.items(), sign)
        for port in pod.host_ports:
            _tally(self.host_ports, port, sign)
        for claim in pod.claims:
            _tally(self.claims, f"{pod.namespace}/{claim}", sign)

    def port_taken(self, port: HostPort) -> bool:
        """Report whether a host port conflicts with one in use; 0.0.0.0 conflicts with every address."""
        return is_taken(port, self.host_ports)

    def copy(self) -> NodeInfo:
        """Return a copy for simulations."""
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
        for name in ("pods", "requested", "nonzero_requested", "host_ports", "with_affinity", "claims"):
            setattr(twin, name, dict(getattr(self, name)))
        twin.generation = self.generation
        return twin


def _tally(counts: dict[Any, int], key: Any, sign: int) -> None:
    count = counts.get(key, 0) + sign
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)


def zone_of(labels: Mapping[str, str]) -> str:
    """Return region and zone as one key; empty without either label. Upstream: ``GetZoneKey``."""
    region = labels.get("topology.kubernetes.io/region") or labels.get("failure-domain.beta.kubernetes.io/region", "")
    zone = labels.get("topology.kubernetes.io/zone") or labels.get("failure-domain.beta.kubernetes.io/zone", "")
    return f"{region}:\0:{zone}" if region or zone else ""
