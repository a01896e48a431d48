"""Request bodies of decisions; each carries the version it is based on, so that one of two racing writes fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.timestamps import format_micro_time
from steersman.controlplane.elections.step import LEASE_DURATION_SECONDS, Assign, Prefer, Publish

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.controlplane.elections.objects import Candidate, Lease
    from steersman.controlplane.elections.step import Create


def new_lease(create: Create, *, namespace: str, name: str, now: datetime) -> Tree:
    """Return the Lease to create; without a holder it only publishes the strategy."""
    spec: Tree = {"strategy": create.strategy, "leaseDurationSeconds": LEASE_DURATION_SECONDS}
    spec["renewTime"] = format_micro_time(now)
    if create.holder:
        spec["holderIdentity"] = create.holder
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def lease_patch(write: Assign | Prefer | Publish, lease: Lease, *, now: datetime) -> Tree:
    """Return the merge patch of a decision about an existing Lease."""
    spec: Tree = {"strategy": write.strategy or None}
    match write:
        case Assign(holder):
            spec |= {
                "holderIdentity": holder,
                "renewTime": format_micro_time(now),
                "leaseDurationSeconds": LEASE_DURATION_SECONDS,
                "preferredHolder": None,
                "acquireTime": None,
            }
        case Prefer(holder):
            spec["preferredHolder"] = holder or None
        case Publish():
            pass
    return {"metadata": {"resourceVersion": lease.resource_version}, "spec": spec}


def ping(candidate: Candidate, *, now: datetime) -> Tree:
    """Return the merge patch that pings a candidate."""
    return {"metadata": {"resourceVersion": candidate.resource_version}, "spec": {"pingTime": format_micro_time(now)}}
