"""Kubelet admission: whether a node accepts a pod that is bound to it.

A scheduler binds pods that fit. Pods with ``spec.nodeName`` of their own, and nodes that changed meanwhile, are why a kubelet
checks again. A rejected pod fails and is not started.

``reject`` is the rule; ``PodAdmission`` counts what the accepted pods of each node use. Not here: evictions under
pressure (``nodes.simulation``) and preemption for critical pods, which simulated kubelets do not do.
Upstream: pkg/kubelet/lifecycle/predicate.go and ``AdmissionCheck`` in pkg/scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from lightkube.models.core_v1 import Node, Pod

from steersman.apimachinery.timestamps import format_time
from steersman.client.objects import name_of, uid_of
from steersman.nodes.pod_status import is_finished, is_terminating, spec_of, status_of
from steersman.workloads.host_ports import HostPort, host_ports, is_taken
from steersman.workloads.node_matching import NO_EXECUTE, required_node_affinity_matches, untolerated
from steersman.workloads.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    ResourceList,
    add_resources,
    is_extended,
    parse_resource_list,
    pod_requests,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from steersman.apimachinery.trees import Tree

_OS_LABEL: Final = "kubernetes.io/os"
_OS: Final = "linux"
_WRONG_OS_LABEL: Final = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
_WRONG_OS: Final = "Failed to admit pod as the OS field doesn't match node OS"
_AFFINITY: Final = "node(s) didn't match Pod's node affinity/selector"
_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
_TAINTS: Final = "node(s) had taints that the pod didn't tolerate"
_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class Rejection(NamedTuple):
    """Reason and message of a pod that its node rejects."""

    reason: str
    message: str

    def status(self, pod: Tree, *, now: datetime) -> Tree:
        """Return the status that the kubelet reports. Upstream: ``Kubelet.rejectPod``."""
        return {
            "phase": "Failed",
            "reason": self.reason,
            "message": f"Pod was rejected: {self.message}",
            "startTime": status_of(pod).get("startTime") or format_time(now),
            "observedGeneration": pod["metadata"].get("generation", 1),
        }


class Demand(NamedTuple):
    """Resource requests and host ports of one pod."""

    requests: ResourceList
    host_ports: tuple[HostPort, ...]

    @classmethod
    def of(cls, pod: Pod) -> Demand:
        """Return what a pod uses on its node."""
        spec: Any = pod.spec  # Pods of a server have one
        return cls(pod_requests(pod), host_ports(spec))


class NodeUsage:
    """Resources and host ports in use by the accepted pods of one node."""

    def __init__(self) -> None:
        self.pods = 0
        self.requests: ResourceList = {}
        self.host_ports: dict[HostPort, int] = {}

    def add(self, demand: Demand, sign: int = 1) -> None:
        """Add a pod's demand, or remove it with ``sign`` -1."""
        self.pods += sign
        add_resources(self.requests, demand.requests.items(), sign)
        for port in demand.host_ports:
            count = self.host_ports.get(port, 0) + sign
            if count:
                self.host_ports[port] = count
            else:
                del self.host_ports[port]


def reject(pod: Pod, demand: Demand, node: Node, usage: NodeUsage) -> Rejection | None:
    """Return why the node rejects the pod, the first reason in upstream's order; None if it accepts it.

    Resources are not checked on a node that reports nothing allocatable.
    """
    spec: Any = pod.spec
    label = ((pod.metadata.labels if pod.metadata is not None else None) or {}).get(_OS_LABEL)
    if label is not None and label != _OS:
        return Rejection("PodOSSelectorNodeLabelDoesNotMatch", _WRONG_OS_LABEL)
    if spec.os is not None and spec.os.name != _OS:
        return Rejection("PodOSNotSupported", _WRONG_OS)
    for shortage in _shortages(demand, node, usage):
        return shortage
    if not required_node_affinity_matches(spec, node):
        return _predicate("NodeAffinity", _AFFINITY)
    if any(is_taken(port, usage.host_ports) for port in demand.host_ports):
        return _predicate("NodePorts", _PORTS)
    taints = (node.spec.taints if node.spec is not None else None) or ()
    if untolerated(taints, spec.tolerations or (), effects=(NO_EXECUTE,)) is not None:
        return _predicate("TaintToleration", _TAINTS)
    return None


def _predicate(name: str, description: str) -> Rejection:
    return Rejection(name, f"Predicate {name} failed: {description}")


def _shortages(demand: Demand, node: Node, usage: NodeUsage) -> Iterator[Rejection]:
    """Yield the resources that the node has too little of. Extended resources that it does not have are ignored, as
    they may be cluster-level ones.
    """
    allocatable = parse_resource_list(node.status.allocatable if node.status is not None else None)
    if not allocatable:
        return
    if usage.pods + 1 > allocatable.get(PODS, 0):
        yield _out_of(PODS, 1, usage.pods, allocatable.get(PODS, 0))
    for name in (*_FIRST, *sorted(demand.requests.keys() - set(_FIRST))):
        requested, used, capacity = demand.requests.get(name, 0), usage.requests.get(name, 0), allocatable.get(name, 0)
        if requested > max(0, capacity - used) and not (is_extended(name) and name not in allocatable):
            yield _out_of(name, requested, used, capacity)


def _out_of(resource: str, requested: int, used: int, capacity: int) -> Rejection:
    return Rejection(
        f"OutOf{resource}",
        f"Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}",
    )


def _allocations(pod: Tree) -> list[tuple[Any, Any]]:
    """Return allocated and actual resources of the containers, which change during a resize."""
    statuses = status_of(pod)
    containers = (*(statuses.get("containerStatuses") or ()), *(statuses.get("initContainerStatuses") or ()))
    return [(status.get("allocatedResources"), status.get("resources")) for status in (statuses, *containers)]


class PodAdmission:
    """Admission of the pods of all simulated nodes of a process, shared by its pod controllers."""

    def __init__(self) -> None:
        self._usage: dict[str, NodeUsage] = {}
        #: Node name and demand of each accepted pod, by UID.
        self._accepted: dict[str, tuple[str, Demand]] = {}

    def adopt(self, pod: Tree, node: Tree) -> None:
        """Count a pod that a kubelet has accepted before."""
        if status_of(pod).get("startTime") and not is_finished(pod) and uid_of(pod) not in self._accepted:
            self._count(uid_of(pod), name_of(node), Demand.of(msgspec.convert(pod, Pod, strict=False)))

    def admit(self, pod: Tree, node: Tree) -> Rejection | None:
        """Accept a pod, which then uses the node's resources until ``observe`` or ``forget`` releases them, or return
        the reason of its rejection. A pod that was accepted before stays accepted; a terminating one is not checked.
        """
        if uid_of(pod) in self._accepted or is_finished(pod) or is_terminating(pod):
            return None
        if status_of(pod).get("startTime"):
            self.adopt(pod, node)
            return None
        typed = msgspec.convert(pod, Pod, strict=False)
        demand = Demand.of(typed)
        usage = self._usage.get(name_of(node)) or NodeUsage()
        rejection = reject(typed, demand, msgspec.convert(node, Node, strict=False), usage)
        if rejection is None:
            self._count(uid_of(pod), name_of(node), demand)
        return rejection

    def observe(self, pod: Tree, *, old: Tree | None = None) -> None:
        """Update what an accepted pod uses; a finished pod uses nothing."""
        uid = uid_of(pod)
        if uid not in self._accepted:
            return
        if is_finished(pod):
            self.forget(uid)
        elif old is None or spec_of(old) != spec_of(pod) or _allocations(old) != _allocations(pod):
            node_name, _ = self._accepted[uid]
            self.forget(uid)
            self._count(uid, node_name, Demand.of(msgspec.convert(pod, Pod, strict=False)))

    def forget(self, uid: str) -> None:
        """Release what a pod uses. Idempotent."""
        accepted = self._accepted.pop(uid, None)
        if accepted is None:
            return
        node_name, demand = accepted
        usage = self._usage[node_name]
        usage.add(demand, -1)
        if not usage.pods:
            del self._usage[node_name]

    def _count(self, uid: str, node_name: str, demand: Demand) -> None:
        self._usage.setdefault(node_name, NodeUsage()).add(demand)
        self._accepted[uid] = node_name, demand
