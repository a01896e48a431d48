"""Node eligibility of a DaemonSet, and the node binding of its Pods. Pure rules of ``pkg/controller/daemon``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from lightkube.models.core_v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Toleration,
)

from steersman.apimachinery.intstr import scaled_value
from steersman.client.objects import annotations_of, labels_of, name_of, namespace_of
from steersman.runtime.structs import replaced, with_metadata
from steersman.workloads.node_matching import NO_EXECUTE, NO_SCHEDULE, required_node_affinity_matches, untolerated
from steersman.workloads.pods import node_of, pod_from_template
from steersman.workloads.template_hash import template_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.apps_v1 import DaemonSet, DaemonSetSpec
    from lightkube.models.core_v1 import Node, PodSpec, PodTemplateSpec

    from steersman.runtime.owners import Owner

REVISION_HASH: Final = "controller-revision-hash"
GENERATION_LABEL: Final = "pod-template-generation"
GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_NAME_FIELD: Final = "metadata.name"

_TAINTS: Final = "node.kubernetes.io/"
#: Tolerations of every daemon Pod.
_TOLERATED: Final = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)


def spec_of(ds: DaemonSet) -> DaemonSetSpec:
    """Return ``spec``, which every DaemonSet has."""
    assert ds.spec is not None
    return ds.spec


def pod_spec_of(ds: DaemonSet) -> PodSpec:
    """Return the template's ``spec`` without node affinity for a node."""
    spec = spec_of(ds).template.spec
    assert spec is not None
    return spec


def tolerations(spec: PodSpec) -> list[Toleration]:
    """Return the template's and the standard tolerations; with hostNetwork also that of an unavailable network."""
    defaults = [Toleration(key=_TAINTS + name, operator="Exists", effect=effect) for name, effect in _TOLERATED]
    if spec.hostNetwork:
        defaults.append(Toleration(key=f"{_TAINTS}network-unavailable", operator="Exists", effect=NO_SCHEDULE))
    existing = list(spec.tolerations or ())
    for toleration in defaults:
        alike = [
            number
            for number, toleration_index in enumerate(existing)
            if _same_but_for_time(toleration_index, toleration)
        ]
        if alike:
            existing[alike[0]] = toleration
        else:
            existing.append(toleration)
    return existing


def _same_but_for_time(one: Toleration, other: Toleration) -> bool:
    return replaced(one, tolerationSeconds=None, value=one.value or None) == other


class Eligibility(NamedTuple):
    """Eligibility of a node."""

    #: True if the node should have a Pod.
    should_run: bool
    #: True if an existing Pod may stay.
    may_stay: bool


def node_should_run_daemon_pod(ds: DaemonSet, node: Node) -> Eligibility:
    """Return whether a node should run a Pod, and may keep one: only untolerated NoExecute taints evict it."""
    spec = pod_spec_of(ds)
    if spec.nodeName and spec.nodeName != name_of(node):
        return Eligibility(should_run=False, may_stay=False)
    if not required_node_affinity_matches(spec, node):
        return Eligibility(should_run=False, may_stay=False)
    taints = (node.spec.taints if node.spec else None) or ()
    pod_tolerations = tolerations(spec)
    if untolerated(taints, pod_tolerations) is None:
        return Eligibility(should_run=True, may_stay=True)
    return Eligibility(should_run=False, may_stay=untolerated(taints, pod_tolerations, effects=(NO_EXECUTE,)) is None)


def new_pod(ds: DaemonSet, node: str, controller: Owner, revision_hash: str) -> Pod:
    """Return a Pod to create for a node, pinned by affinity; the scheduler binds it and may preempt for it."""
    template = spec_of(ds).template
    pod = pod_from_template(template, owner_name=name_of(ds), namespace=namespace_of(ds), controller=controller)
    labels = labels_of(pod) | {REVISION_HASH: revision_hash}
    generation = template_generation(ds)
    if generation:
        labels[GENERATION_LABEL] = generation
    spec = replaced(pod.spec, tolerations=tolerations(pod_spec_of(ds)), affinity=_pinned(pod_spec_of(ds), node))
    return replaced(with_metadata(pod, labels=labels), spec=spec)


def revision_hash(template: PodTemplateSpec, collisions: int) -> str:
    """Return the hash in a revision's name, computed as for ReplicaSets."""
    return template_hash(template, collisions or None)


def template_generation(ds: DaemonSet) -> str:
    """Return the deprecated template generation annotation; empty if absent or invalid."""
    text = annotations_of(ds).get(GENERATION_ANNOTATION, "")
    return text if text.isascii() and text.isdigit() else ""


def _pinned(spec: PodSpec, node: str) -> Affinity:
    """Return the template's affinity with only this node required."""
    by_name = NodeSelectorRequirement(key=_NAME_FIELD, operator="In", values=[node])
    required = NodeSelector(nodeSelectorTerms=[NodeSelectorTerm(matchFields=[by_name])])
    affinity = spec.affinity or Affinity()
    node_affinity = replaced(
        affinity.nodeAffinity or NodeAffinity(), requiredDuringSchedulingIgnoredDuringExecution=required
    )
    return replaced(affinity, nodeAffinity=node_affinity)


def target_node(pod: Pod) -> str:
    """Return the node that a Pod is bound or pinned to; empty for neither."""
    if node_of(pod):
        return node_of(pod)
    affinity = pod.spec.affinity.nodeAffinity if pod.spec and pod.spec.affinity else None
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity else None
    for term in required.nodeSelectorTerms if required else ():
        for field in term.matchFields or ():
            if field.key == _NAME_FIELD and field.operator == "In" and len(field.values or ()) == 1:
                return (field.values or [""])[0]
    return ""


def by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Return Pods by target node, bound ones first, then by age.

    Pods without one, which the DaemonSet has adopted, are left alone. Upstream: ``getNodesToDaemonPods``.
    """
    pods_by_node: dict[str, list[Pod]] = {}
    for pod in pods:
        if node := target_node(pod):
            pods_by_node.setdefault(node, []).append(pod)
    for of_node in pods_by_node.values():
        of_node.sort(key=_sort_key)
    return pods_by_node


def _sort_key(pod: Pod) -> tuple[bool, float, str]:
    created = pod.metadata.creationTimestamp if pod.metadata else None
    return not node_of(pod), created.timestamp() if created else 0.0, name_of(pod)


def is_updated(pod: Pod, revision_hash: str) -> bool:
    """Report whether the Pod has the revision; its template generation does not count.

    Upstream: ``util.IsPodUpdated``, whose comparison of template generations never holds.
    """
    return labels_of(pod).get(REVISION_HASH) == revision_hash


def fenceposts(ds: DaemonSet, desired: int) -> tuple[int, int]:
    """Return ``maxSurge`` and ``maxUnavailable`` as numbers of nodes."""
    strategy = spec_of(ds).updateStrategy
    rolling = strategy.rollingUpdate if strategy else None
    surge, unavailable = (rolling.maxSurge, rolling.maxUnavailable) if rolling else (None, None)
    most_surge = scaled_value(surge or 0, desired, round_up=True)
    most_unavailable = scaled_value(1 if unavailable is None else unavailable, desired, round_up=True)
    return (most_surge, most_unavailable) if most_surge or most_unavailable else (0, 1)


def allows_surge(ds: DaemonSet) -> bool:
    """Report whether a node may have an old and a new Pod at once."""
    return strategy_of(ds) == "RollingUpdate" and fenceposts(ds, 1)[0] > 0


def strategy_of(ds: DaemonSet) -> str:
    """Return ``spec.updateStrategy.type``."""
    strategy = spec_of(ds).updateStrategy
    return (strategy.type if strategy else None) or "RollingUpdate"
