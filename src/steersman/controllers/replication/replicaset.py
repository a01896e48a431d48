"""ReplicaSet: set-based selectors, and siblings of one Deployment whose Pods influence the deletion order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec
from lightkube.models.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus

from steersman.apimachinery.selectors import from_label_selector
from steersman.client.objects import labels_of, namespace_of, uid_of
from steersman.controllers.replication.controller import BaseReplicationController
from steersman.controllers.replication.plan import Counts, Status
from steersman.runtime.dependents import controlled_by, index_dependents
from steersman.runtime.owners import controller_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.core_v1 import Pod

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.controllers.context import ControllerContext


class ReplicaSetController(BaseReplicationController):
    """``replicaset-controller``."""

    name = "replicaset-controller"
    queue_name = "replicaset"
    model = ReplicaSet
    condition: ClassVar = ReplicaSetCondition

    def __init__(self, context: ControllerContext, *, workers: int) -> None:
        super().__init__(context, workers=workers)
        index_dependents(self.objects)

    def selector_of(self, obj: ReplicaSet) -> LabelSelector:
        """Return ``spec.selector``."""
        assert obj.spec is not None
        return from_label_selector(msgspec.to_builtins(obj.spec.selector))

    def related_pods(self, obj: ReplicaSet) -> Sequence[Pod]:
        """Return the Pods that the ReplicaSets of one Deployment select, without duplicates."""
        owner = controller_of(obj)
        if owner is None:
            return ()
        pods: dict[str, Pod] = {}
        in_namespace = self.pods.lister.list(namespace=namespace_of(obj))
        for sibling in controlled_by(self.objects.lister, owner.uid):
            selector = self.selector_of(sibling)
            pods |= {uid_of(pod): pod for pod in in_namespace if selector.matches(labels_of(pod))}
        return list(pods.values())

    def terminating(self, pods: Iterable[Pod], obj: ReplicaSet, selector: LabelSelector) -> int:
        """Return the number of owned matching Pods that are terminating."""
        return sum(self.is_owned(pod, obj) and selector.matches(labels_of(pod)) for pod in pods)

    def status_of(self, obj: ReplicaSet) -> Status:
        """Return the stored status."""
        status = obj.status or ReplicaSetStatus(replicas=0)
        counts = Counts(
            replicas=status.replicas,
            fully_labeled=status.fullyLabeledReplicas or 0,
            ready=status.readyReplicas or 0,
            available=status.availableReplicas or 0,
            terminating=status.terminatingReplicas,
        )
        return Status(counts, status.observedGeneration or 0, tuple(status.conditions or ()))

    def status_struct(self, status: Status) -> ReplicaSetStatus:
        """Return the status as stored; zero counts are omitted as in Go, except ``terminatingReplicas``."""
        counts = status.counts
        return ReplicaSetStatus(
            replicas=counts.replicas,
            fullyLabeledReplicas=counts.fully_labeled or None,
            readyReplicas=counts.ready or None,
            availableReplicas=counts.available or None,
            terminatingReplicas=counts.terminating,
            observedGeneration=status.observed_generation or None,
            conditions=list(status.conditions) or None,
        )


def build(context: ControllerContext) -> ReplicaSetController:
    """Construct the controller."""
    return ReplicaSetController(context, workers=context.options.concurrent_replicaset_syncs)
