"""Preemption at kubelet admission: selection of the pods that a critical pod displaces if it only lacks resources.

Pods are chosen by quality of service, guaranteed ones last; within a class as few as possible, and of those the ones with
the smallest requests. Upstream: pkg/kubelet/preemption/preemption.go and ``Preemptable`` in pkg/kubelet/types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.workloads.resources import CPU, MEMORY, PODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree

    Requirements = Mapping[str, int]

PREEMPTING: Final = "Preempting"
MESSAGE: Final = "Preempted in order to admit critical pod"
DISRUPTION_MESSAGE: Final = "Pod was preempted by Kubelet to accommodate a critical pod."

_SYSTEM_CRITICAL_PRIORITY: Final = 2_000_000_000
_MIRROR: Final = "kubernetes.io/config.mirror"
_BEST_EFFORT: Final = "BestEffort"
_BURSTABLE: Final = "Burstable"
_GUARANTEED: Final = "Guaranteed"


class PreemptionError(Exception):
    """No set of pods frees enough resources."""


class Contender(NamedTuple):
    """Attributes of a pod for preemption."""

    uid: str
    #: Namespace and name.
    key: str
    priority: int | None
    is_critical: bool
    quality_of_service: str
    requests: Mapping[str, int]

    @classmethod
    def of(cls, pod: Tree, requests: Mapping[str, int]) -> Contender:
        """Return a pod with its effective requests."""
        metadata, priority = pod["metadata"], (pod.get("spec") or {}).get("priority")
        is_mirror = _MIRROR in (metadata.get("annotations") or ())
        return cls(
            metadata["uid"],
            f"{metadata.get('namespace', '')}/{metadata['name']}",
            priority,
            is_mirror or (priority is not None and priority >= _SYSTEM_CRITICAL_PRIORITY),
            (pod.get("status") or {}).get("qosClass") or _BEST_EFFORT,
            requests,
        )

    def preempts(self, other: Contender) -> bool:
        """Report whether this pod may displace another one."""
        if self.is_critical and not other.is_critical:
            return True
        return self.priority is not None and other.priority is not None and self.priority > other.priority

    def amount(self, resource: str) -> int:
        """Return the amount of a resource that the end of the pod frees."""
        return 1 if resource == PODS else self.requests.get(resource, 0)


def pods_to_preempt(preemptor: Contender, pods: Iterable[Contender], requirements: Requirements) -> list[Contender]:
    """Return the pods whose end frees the required amounts. Raises ``PreemptionError``."""
    classes: dict[str, list[Contender]] = {_BEST_EFFORT: [], _BURSTABLE: [], _GUARANTEED: []}
    for pod in pods:
        if preemptor.preempts(pod) and pod.quality_of_service in classes:
            classes[pod.quality_of_service].append(pod)
    best_effort, burstable, guaranteed = classes.values()
    if lacking := _rest(requirements, [*best_effort, *burstable, *guaranteed]):
        raise PreemptionError(f"no set of running pods found to reclaim resources: {_text(lacking)}")
    # Each class frees the remainder after the end of all pods of lower classes.
    guaranteed = _nearest(guaranteed, _rest(requirements, [*best_effort, *burstable]))
    burstable = _nearest(burstable, _rest(requirements, [*best_effort, *guaranteed]))
    best_effort = _nearest(best_effort, _rest(requirements, [*burstable, *guaranteed]))
    return [*best_effort, *burstable, *guaranteed]


def _rest(requirements: Requirements, pods: Sequence[Contender]) -> dict[str, int]:
    rest = {name: needed - sum(pod.amount(name) for pod in pods) for name, needed in requirements.items()}
    return {name: needed for name, needed in rest.items() if needed > 0}


def _nearest(pods: Sequence[Contender], requirements: dict[str, int]) -> list[Contender]:
    """Return pods that meet the requirements, chosen greedily by the largest part of the remaining requirements."""
    left, chosen = list(pods), []
    while requirements:
        best = min(left, key=lambda pod: (_distance(requirements, pod), pod.amount(MEMORY), pod.amount(CPU)))
        left.remove(best)
        chosen.append(best)
        requirements = _rest(requirements, [best])
    return chosen


def _distance(requirements: Requirements, pod: Contender) -> float:
    """Return the sum of the unmet fractions of the requirements."""
    unmet = (max(0, needed - pod.amount(name)) / needed for name, needed in requirements.items())
    return sum(part * part for part in unmet)


def _text(requirements: Requirements) -> str:
    return f"[{''.join(f'(res: {name}, q: {needed}), ' for name, needed in requirements.items())}]"
