"""Nodes with their pods, updated incrementally by every event. Upstream: ``pkg/scheduler/backend/cache``.

A scheduled pod is *assumed* on its node at once, so that the next scheduling cycle counts it; the pod from the watch
replaces the assumed one.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.selectors import NOTHING
from steersman.scheduler.node_info import NodeInfo
from steersman.scheduler.pod_info import PodInfo
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.scheduler.objects import Node, Pod
    from steersman.scheduler.pod_info import AffinityTerm

#: Bound on selectors with incremental counts; the least recently used one is dropped.
_COUNTED_SELECTORS_MAX: Final = 256


class PodCounts:
    """Number of pods matching a namespace and selector, by node; terminating pods count only with ``leaving``."""

    __slots__ = ("_leaving", "_namespace", "_selector", "by_node")

    def __init__(self, namespace: str, selector: LabelSelector, *, leaving: bool = False) -> None:
        self._namespace = namespace
        self._leaving = leaving
        self._selector = selector
        self.by_node: dict[str, int] = {}

    def count(self, pod: PodInfo, node: str, sign: int) -> None:
        """Count a pod added to a node (``sign`` 1) or removed from it (-1)."""
        if pod.namespace != self._namespace or (pod.is_terminating and not self._leaving):
            return
        if self._selector.matches(pod.labels):
            _tally(self.by_node, node, sign)


class Snapshot:
    """The current state of all nodes. Not a copy: readers must not await while they use it."""

    def __init__(self) -> None:
        #: All nodes, including those known only from their pods.
        self.infos: Final[dict[str, NodeInfo]] = {}
        #: Nodes with pods whose terms affect InterPodAffinity scores.
        self.with_affinity: Final[dict[str, NodeInfo]] = {}
        #: Required anti-affinity terms of assigned pods, with the number of these pods by node.
        self.required_anti_affinity: Final[dict[AffinityTerm, dict[str, int]]] = {}
        #: Labels by namespace, maintained by the event handlers.
        self.namespaces: Final[dict[str, Mapping[str, str]]] = {}
        #: Image sizes in bytes by image and node.
        self.images: Final[dict[str, dict[str, int]]] = {}
        self._counts: OrderedDict[tuple[str, LabelSelector, bool], PodCounts] = OrderedDict()
        self._node_of: dict[str, str] = {}
        self._assumed: dict[str, PodInfo] = {}
        self._generations = itertools.count(1)
        self._order: list[NodeInfo] | None = None
        self._domains: dict[str, frozenset[str]] = {}

    # Nodes

    @property
    def nodes(self) -> Sequence[NodeInfo]:
        """Nodes with a Node object, interleaved by zone so that any partial search covers all zones. Upstream:
        ``nodeTree``.
        """
        if self._order is None:
            zones: dict[str, list[NodeInfo]] = {}
            for info in self.infos.values():
                if info.node is not None:
                    zones.setdefault(info.zone, []).append(info)
            turns = itertools.zip_longest(*zones.values())
            self._order = [info for turn in turns for info in turn if info is not None]
        return self._order

    def sizes(self) -> dict[str, int]:
        """Return the numbers of nodes, of pods with a node, and of assumed pods, for metrics."""
        return {"nodes": len(self.nodes), "pods": len(self._node_of), "assumed_pods": len(self._assumed)}

    def domains(self, topology_key: str) -> frozenset[str]:
        """Return the values of a node label in the cluster."""
        domain = self._domains.get(topology_key)
        if domain is None:
            labels = (node.labels for node in self.nodes)
            domain = frozenset(label[topology_key] for label in labels if topology_key in label)
            self._domains[topology_key] = domain
        return domain

    def get(self, name: str) -> NodeInfo | None:
        """Return a node that has a Node object, or None."""
        info = self.infos.get(name)
        return info if info is not None and info.node is not None else None

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace; empty if unknown."""
        return self.namespaces.get(namespace, {})

    def set_node(self, node: Node) -> bool:
        """Add or update a node; return False for changes that no plugin reads, in particular heartbeats."""
        name = node.metadata.name
        info = self._info(name)
        had_node, zone, labels = info.node is not None, info.zone, info.labels
        self._forget_images(info)
        changed = info.set_node(node)
        for image, size in info.images.items():
            self.images.setdefault(image, {})[name] = size
        if changed:
            info.generation = next(self._generations)
        if not had_node or info.zone != zone:
            self._order = None
        if not had_node or info.labels != labels:
            self._domains.clear()
        return changed

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay until they are deleted."""
        info = self.infos.get(name)
        if info is None:
            return
        self._forget_images(info)
        info.node = None
        info.labels = {}  # its pods are in no topology domain any more
        info.generation = next(self._generations)
        self._order = None
        self._domains.clear()
        if not info.pods:
            del self.infos[name]

    def _forget_images(self, info: NodeInfo) -> None:
        for image in info.images:
            nodes = self.images.get(image, {})
            nodes.pop(info.name, None)
            if not nodes:
                self.images.pop(image, None)

    def _info(self, name: str) -> NodeInfo:
        info = self.infos.get(name)
        if info is None:
            info = self.infos[name] = NodeInfo(name)
        return info

    # Pods

    def set_pod(self, pod: Pod) -> None:
        """Add or update an assigned pod; terminated pods release their resources."""
        uid = pod.metadata.uid
        if is_finished(pod):
            self.remove_pod(uid)
        else:
            self._place(PodInfo(pod))
        self._assumed.pop(uid, None)

    def assume(self, pod: PodInfo, node: str) -> None:
        """Add a scheduled pod to its node until the watch confirms it or ``forget`` is called."""
        pod.node_name = node
        self._assumed[pod.uid] = pod
        self._place(pod)

    def forget(self, pod: PodInfo) -> None:
        """Remove an assumed pod, unless the watch has confirmed it."""
        if self._assumed.pop(pod.uid, None) is not None:
            self.remove_pod(pod.uid)
            pod.node_name = ""

    def pod(self, uid: str) -> PodInfo | None:
        """Return an assigned or assumed pod, or None."""
        name = self._node_of.get(uid)
        return self.infos[name].pods[uid] if name is not None else None

    def existing_anti_affinity(self, pod: PodInfo) -> list[AffinityTerm]:
        """Return the required anti-affinity terms of assigned pods that match the pod."""
        return [term for term in self.required_anti_affinity if term.matches(pod, self.namespace_labels)]

    def is_assumed(self, uid: str) -> bool:
        """Report whether the pod is assumed and not confirmed yet."""
        return uid in self._assumed

    def remove_pod(self, uid: str) -> None:
        """Remove a pod. Idempotent."""
        name = self._node_of.pop(uid, None)
        if name is None:
            return
        info = self.infos[name]
        pod = info.remove(uid)
        assert pod is not None
        self._changed(info, pod, -1)
        if info.node is None and not info.pods:
            del self.infos[name]

    def _place(self, pod: PodInfo) -> None:
        self.remove_pod(pod.uid)
        info = self._info(pod.node_name)
        info.add(pod)
        self._node_of[pod.uid] = pod.node_name
        self._changed(info, pod, 1)

    def _changed(self, info: NodeInfo, pod: PodInfo, sign: int) -> None:
        info.generation = next(self._generations)
        for counts in self._counts.values():
            counts.count(pod, info.name, sign)
        if pod.has_affinity:
            _keep(self.with_affinity, info, bool(info.with_affinity))
            for term in pod.anti_affinity:
                nodes = self.required_anti_affinity.setdefault(term, {})
                _tally(nodes, info.name, sign)
                if not nodes:
                    del self.required_anti_affinity[term]

    def pods(self) -> Iterator[PodInfo]:
        """Iterate over all assigned and assumed pods."""
        for info in self.infos.values():
            yield from info.pods.values()

    def matching(self, term: AffinityTerm) -> Mapping[str, int]:
        """Return the number of pods that match an affinity term, by node."""
        if len(term.namespaces) == 1 and term.namespace_selector is NOTHING:
            (namespace,) = term.namespaces
            return self.counts(namespace, term.selector, leaving=True)
        counts: dict[str, int] = {}
        for info in self.infos.values():
            count = sum(term.matches(pod, self.namespace_labels) for pod in info.pods.values())
            if count:
                counts[info.name] = count
        return counts

    def counts(self, namespace: str, selector: LabelSelector, *, leaving: bool = False) -> Mapping[str, int]:
        """Return the number of pods matching a namespace and selector, by node; nodes without any are omitted.

        ``leaving``: count terminating pods as well.
        """
        key = (namespace, selector, leaving)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = PodCounts(namespace, selector, leaving=leaving)
            for info in self.infos.values():
                for pod in info.pods.values():
                    counts.count(pod, info.name, 1)
            if len(self._counts) > _COUNTED_SELECTORS_MAX:
                self._counts.popitem(last=False)
        else:
            self._counts.move_to_end(key)
        return counts.by_node


def _tally(counts: dict[str, int], name: str, sign: int) -> None:
    count = counts.get(name, 0) + sign
    if count:
        counts[name] = count
    else:
        counts.pop(name, None)


def _keep(table: dict[str, NodeInfo], info: NodeInfo, is_present: bool) -> None:  # noqa: FBT001 — private
    if is_present:
        table[info.name] = info
    else:
        table.pop(info.name, None)
