"""Last heartbeat of a Node, by its Lease and its ``Ready`` condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steersman.client.objects import metadata_field
from steersman.controllers.nodelifecycle.plan import ready_of

if TYPE_CHECKING:
    from datetime import datetime

    from lightkube.models.coordination_v1 import Lease
    from lightkube.models.core_v1 import Node

#: Namespace of Node Leases.
LEASE_NAMESPACE: Final = "kube-node-lease"


@dataclass(frozen=True, slots=True)
class GracePeriods:
    """Grace periods in seconds: of a Node that was ready, and of one that is starting."""

    running_seconds: float
    startup_seconds: float


@dataclass(slots=True)
class Health:
    """Observed heartbeats of one Node, in monotonic time of this process, as nodes' clocks may differ."""

    #: Monotonic time of the last heartbeat.
    heard_at: float
    #: True if the condition ``Ready`` was present; and its heartbeat time.
    had_ready: bool
    heartbeat: datetime | None
    renewed: datetime | None = None

    @classmethod
    def of(cls, node: Node, *, now: datetime, monotonic: float) -> Health:
        """Return the health of a newly observed Node; without heartbeat it counts from creation."""
        ready = ready_of(node)
        if ready is not None:
            return cls(monotonic, had_ready=True, heartbeat=ready.lastHeartbeatTime)
        created = metadata_field(node, "creationTimestamp")
        age_seconds = max(0.0, (now - created).total_seconds()) if created is not None else 0.0
        return cls(monotonic - age_seconds, had_ready=False, heartbeat=None)

    def observe(self, node: Node, *, monotonic: float) -> None:
        """Observe the Node's status; a changed heartbeat time counts as a heartbeat now."""
        ready = ready_of(node)
        if self.had_ready != (ready is not None) or (ready is not None and ready.lastHeartbeatTime != self.heartbeat):
            self.heard_at = monotonic
        self.had_ready = ready is not None
        self.heartbeat = ready.lastHeartbeatTime if ready is not None else None

    def renew(self, lease: Lease | None, *, monotonic: float) -> None:
        """Observe the Node's Lease."""
        renewed = lease.spec.renewTime if lease is not None and lease.spec is not None else None
        if renewed is not None and (self.renewed is None or self.renewed < renewed):
            self.renewed = renewed
            self.heard_at = monotonic

    def seconds_left(self, grace: GracePeriods, *, monotonic: float) -> float:
        """Return the seconds until the grace period ends; 0 or less if it has."""
        seconds = grace.running_seconds if self.had_ready else grace.startup_seconds
        return self.heard_at + seconds - monotonic
