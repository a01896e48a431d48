"""A scheduler plugin: the pods of a tenant share racks, and the pods of a gang start together.

A pod names its tenant by the label ``tenant``, a node its rack by the label ``rack``. A rack holds pods of at most
``tenantsPerRack`` tenants; pods prefer the rack with most pods of their tenant. Pods with the labels ``gang`` and
``gang-size`` are bound when that many pods of the gang have a node.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from steersman.scheduler.out_of_tree import ClusterEvent, ClusterEventWithHint, Status, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from steersman.scheduler.out_of_tree import CycleState, Handle, NodeInfo, PodInfo

NAME = "RackPacking"


class Racks(NamedTuple):
    """Tenants by rack, with the number of their pods."""

    pods: dict[str, dict[str, int]]

    @classmethod
    def count(cls, nodes: Sequence[NodeInfo]) -> Racks:
        pods: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for node in nodes:
            for pod in node.pods.values():
                if "tenant" in pod.labels:
                    pods[node.labels.get("rack", "")][pod.labels["tenant"]] += 1
        return cls(pods)


class RackPacking:
    """The plugin; its methods are the extension points."""

    class Args(msgspec.Struct, forbid_unknown_fields=True):
        """Arguments in ``pluginConfig``."""

        tenantsPerRack: int = 1  # noqa: N815 — a field of a Kubernetes configuration
        gangTimeoutSeconds: float = 60  # noqa: N815 — as above

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args = args
        self._handle = handle
        #: UIDs of reserved pods by gang.
        self._gangs: dict[tuple[str, str], set[str]] = defaultdict(set)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A rejected pod may fit when a pod of another tenant leaves, or a node comes."""

        def is_of_another_tenant(pod: PodInfo, old: Any, new: Any) -> bool:  # noqa: ARG001 — all hints have it
            return (old.metadata.labels or {}).get("tenant") != pod.labels.get("tenant")

        return [
            ClusterEventWithHint(ClusterEvent.NODE_ADDED | ClusterEvent.NODE_CHANGED),
            ClusterEventWithHint(ClusterEvent.POD_LEFT, is_of_another_tenant),
        ]

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        if "tenant" not in pod.labels:
            return Status.skip()
        state[NAME] = Racks.count(nodes)
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        rack = node.labels.get("rack")
        if rack is None:
            return Status.unresolvable("node(s) are in no rack")
        tenants = {*state[NAME].pods[rack], pod.labels["tenant"]}
        if len(tenants) > self._args.tenantsPerRack:
            return Status.unschedulable("rack(s) belong to other tenants")
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        if NAME not in state:
            return 0
        return int(state[NAME].pods[node.labels.get("rack", "")][pod.labels["tenant"]])

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: dict[str, int]) -> dict[str, int]:
        highest = max(scores.values(), default=0) or 1
        return {node: 100 * score // highest for node, score in scores.items()}

    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        self._gangs[gang_of(pod)].add(pod.uid)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        self._gangs[gang_of(pod)].discard(pod.uid)

    def permit(self, state: CycleState, pod: PodInfo, node: str) -> Status | Wait | None:
        gang = gang_of(pod)
        if not gang[1]:
            return None
        if len(self._gangs[gang]) < int(pod.labels.get("gang-size", "1")):
            return Wait(self._args.gangTimeoutSeconds)
        for waiting in self._handle.waiting_pods():
            if gang_of(waiting.pod) == gang:
                waiting.allow(NAME)
        return None


def gang_of(pod: PodInfo) -> tuple[str, str]:
    """Return the namespace and name of a pod's gang; the name is empty without one."""
    return pod.namespace, pod.labels.get("gang", "")
