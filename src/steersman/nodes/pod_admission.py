"""Kubelet admission: whether a node accepts a pod that is bound to it.

A scheduler binds pods that fit. The kubelet checks again, because pods may be created with ``spec.nodeName`` and nodes may
change. A rejected pod fails and is not started.

``rejections`` is the rule; ``PodAdmission`` counts the usage of the accepted pods of each node. A critical pod that only lacks
resources is accepted, and waits for the end of the pods that it preempts (``pod_preemption``). Evictions under pressure are in
``nodes.simulation``.
Upstream: pkg/kubelet/lifecycle/predicate.go and ``AdmissionCheck`` in pkg/scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from lightkube.models.core_v1 import Node, Pod

from steersman.apimachinery.timestamps import format_time
from steersman.client.objects import name_of, uid_of
from steersman.nodes.pod_preemption import Contender, PreemptionError, pods_to_preempt
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
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from steersman.apimachinery.trees import Tree

_OS_LABEL: Final = "kubernetes.io/os"
_OS: Final = "linux"
_WRONG_OS_LABEL: Final = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
_WRONG_OS: Final = "Failed to admit pod as the OS field doesn't match node OS"
_AFFINITY: Final = "node(s) didn't match Pod's node affinity/selector"
_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
_TAINTS: Final = "node(s) had taints that the pod didn't tolerate"
_UNEXPECTED: Final = "Unexpected error while attempting to recover from admission failure"
_NO_PODS: Final = "preemption: error finding a set of pods to preempt"
_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class Rejection(NamedTuple):
    """Reason and message of the rejection of a pod by its node."""

    reason: str
    message: str
    #: Insufficient resource and the missing amount; unset for other rejections.
    shortage: tuple[str, int] | None = None

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
        """Return the resources that a pod uses on its node."""
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


def rejections(pod: Pod, demand: Demand, node: Node, usage: NodeUsage) -> Iterator[Rejection]:
    """Yield the rejections of the pod by the node, in upstream's order. Resources are not checked on a node without allocatable
    resources.
    """
    spec: Any = pod.spec
    label = ((pod.metadata.labels if pod.metadata is not None else None) or {}).get(_OS_LABEL)
    if label is not None and label != _OS:
        yield Rejection("PodOSSelectorNodeLabelDoesNotMatch", _WRONG_OS_LABEL)
    if spec.os is not None and spec.os.name != _OS:
        yield Rejection("PodOSNotSupported", _WRONG_OS)
    yield from _shortages(demand, node, usage)
    if not required_node_affinity_matches(spec, node):
        yield _predicate("NodeAffinity", _AFFINITY)
    if any(is_taken(port, usage.host_ports) for port in demand.host_ports):
        yield _predicate("NodePorts", _PORTS)
    taints = (node.spec.taints if node.spec is not None else None) or ()
    if untolerated(taints, spec.tolerations or (), effects=(NO_EXECUTE,)) is not None:
        yield _predicate("TaintToleration", _TAINTS)


def _predicate(name: str, description: str) -> Rejection:
    return Rejection(name, f"Predicate {name} failed: {description}")


def _shortages(demand: Demand, node: Node, usage: NodeUsage) -> Iterator[Rejection]:
    """Yield the insufficient resources. Extended resources that the node does not have are ignored, because they may be
    cluster-level resources.
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
        (resource, requested - (capacity - used)),
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
        #: Node name, demand and rank of each accepted pod, by UID.
        self._accepted: dict[str, tuple[str, Demand, Contender]] = {}
        #: UIDs of the running pods that each accepted pod preempts, by its UID.
        self._preempted: dict[str, set[str]] = {}
        self._listeners: list[Callable[[str], None]] = []

    def add_listener(self, changed: Callable[[str], None]) -> None:
        """Call ``changed`` with the key of each pod that is preempted or may start after a preemption."""
        self._listeners.append(changed)

    def is_preempted(self, uid: str) -> bool:
        """Report whether the pod is preempted by a critical one."""
        return any(uid in victims for victims in self._preempted.values())

    def is_waiting(self, uid: str) -> bool:
        """Report whether an accepted pod must wait for the end of the pods that it preempts."""
        return uid in self._preempted

    def adopt(self, pod: Tree, node: Tree) -> None:
        """Count a pod that a kubelet accepted earlier."""
        if status_of(pod).get("startTime") and not is_finished(pod) and uid_of(pod) not in self._accepted:
            self._count(pod, name_of(node), Demand.of(msgspec.convert(pod, Pod, strict=False)))

    def admit(self, pod: Tree, node: Tree) -> Rejection | None:
        """Accept a pod, which then uses the node's resources until ``observe`` or ``forget`` releases them, or return its
        rejection. Accepted pods stay accepted; terminating pods are not checked. An accepted pod may have to wait
        (``is_waiting``).
        """
        if uid_of(pod) in self._accepted or is_finished(pod) or is_terminating(pod):
            return None
        if status_of(pod).get("startTime"):
            self.adopt(pod, node)
            return None
        typed = msgspec.convert(pod, Pod, strict=False)
        demand = Demand.of(typed)
        usage = self._usage.get(name_of(node)) or NodeUsage()
        reasons = list(rejections(typed, demand, msgspec.convert(node, Node, strict=False), usage))
        rejection = reasons[0]._replace(shortage=None) if reasons else None
        if rejection is not None and Contender.of(pod, demand.requests).is_critical:
            rejection = self._preempt(pod, demand, name_of(node), reasons)
        if rejection is None:
            self._count(pod, name_of(node), demand)
        return rejection

    def _preempt(self, pod: Tree, demand: Demand, node_name: str, reasons: list[Rejection]) -> Rejection | None:
        """Preempt pods for a critical pod, or return the rejection. Upstream: ``HandleAdmissionFailure``."""
        shortages = dict(reason.shortage for reason in reasons if reason.shortage is not None)
        if len(shortages) < len(reasons):
            return next(reason for reason in reasons if reason.shortage is None)
        contenders = [rank for name, _, rank in self._accepted.values() if name == node_name]
        # Pods preempted for another critical pod also free resources; a waiting pod uses none yet.
        ending = [contender for contender in contenders if self.is_preempted(contender.uid)]
        others = [
            contender for contender in contenders if contender not in ending and not self.is_waiting(contender.uid)
        ]
        lacking = {
            name: amount - sum(contender.amount(name) for contender in ending) for name, amount in shortages.items()
        }
        needed = {name: amount for name, amount in lacking.items() if amount > 0}
        try:
            victims = pods_to_preempt(Contender.of(pod, demand.requests), others, needed)
        except PreemptionError as error:
            return Rejection("UnexpectedAdmissionError", f"{_UNEXPECTED}: {_NO_PODS}: {error}")
        self._preempted[uid_of(pod)] = {contender.uid for contender in (*ending, *victims)}
        for victim in victims:
            self._notify(victim.key)
        return None

    def _notify(self, key: str) -> None:
        for changed in self._listeners:
            changed(key)

    def observe(self, pod: Tree, *, old: Tree | None = None) -> None:
        """Update the demand of an accepted pod; a finished pod has none."""
        uid = uid_of(pod)
        if uid not in self._accepted:
            return
        if is_finished(pod):
            self.forget(uid)
        elif old is None or spec_of(old) != spec_of(pod) or _allocations(old) != _allocations(pod):
            node_name = self._accepted[uid][0]
            self._release(uid)
            self._count(pod, node_name, Demand.of(msgspec.convert(pod, Pod, strict=False)))

    def forget(self, uid: str) -> None:
        """Release the resources of a pod. Idempotent."""
        self._preempted.pop(uid, None)
        self._release(uid)
        for preemptor, victims in list(self._preempted.items()):
            victims.discard(uid)
            if not victims:
                del self._preempted[preemptor]
                self._notify(self._accepted[preemptor][2].key)

    def _release(self, uid: str) -> None:
        accepted = self._accepted.pop(uid, None)
        if accepted is None:
            return
        node_name, demand, _ = accepted
        usage = self._usage[node_name]
        usage.add(demand, -1)
        if not usage.pods:
            del self._usage[node_name]

    def _count(self, pod: Tree, node_name: str, demand: Demand) -> None:
        self._usage.setdefault(node_name, NodeUsage()).add(demand)
        self._accepted[uid_of(pod)] = node_name, demand, Contender.of(pod, demand.requests)
