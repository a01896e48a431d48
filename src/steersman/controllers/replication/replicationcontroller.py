"""ReplicationController: equality selectors, no siblings, no ``terminatingReplicas``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import (
    ReplicationController,
    ReplicationControllerCondition,
    ReplicationControllerStatus,
)

from steersman.apimachinery.selectors import from_label_selector
from steersman.controllers.replication.controller import BaseReplicationController
from steersman.controllers.replication.plan import Counts, Status

if TYPE_CHECKING:
    from steersman.apimachinery.selectors import LabelSelector
    from steersman.controllers.context import ControllerContext


class ReplicationControllerController(BaseReplicationController):
    """``replicationcontroller-controller``."""

    name = "replication-controller"
    queue_name = "replicationmanager"
    model = ReplicationController
    condition: ClassVar = ReplicationControllerCondition

    def selector_of(self, obj: ReplicationController) -> LabelSelector:
        """Return ``spec.selector``, which the server defaults from the template."""
        assert obj.spec is not None
        # Without labels it would select every Pod; the server rejects that.
        return from_label_selector({"matchLabels": obj.spec.selector} if obj.spec.selector else None)

    def status_of(self, obj: ReplicationController) -> Status:
        """Return the stored status."""
        status = obj.status or ReplicationControllerStatus(replicas=0)
        counts = Counts(
            replicas=status.replicas,
            fully_labeled=status.fullyLabeledReplicas or 0,
            ready=status.readyReplicas or 0,
            available=status.availableReplicas or 0,
            terminating=None,
        )
        return Status(counts, status.observedGeneration or 0, tuple(status.conditions or ()))

    def status_struct(self, status: Status) -> ReplicationControllerStatus:
        """Return the status as stored; zero counts are omitted as in Go."""
        counts = status.counts
        return ReplicationControllerStatus(
            replicas=counts.replicas,
            fullyLabeledReplicas=counts.fully_labeled or None,
            readyReplicas=counts.ready or None,
            availableReplicas=counts.available or None,
            observedGeneration=status.observed_generation or None,
            conditions=list(status.conditions) or None,
        )


def build(context: ControllerContext) -> ReplicationControllerController:
    """Construct the controller."""
    return ReplicationControllerController(context, workers=context.options.concurrent_rc_syncs)
