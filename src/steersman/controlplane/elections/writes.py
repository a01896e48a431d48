"""Decisions as bodies of requests: each carries the version that it was based on, so of two that race one loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.timestamps import format_micro_time
from steersman.controlplane.elections.step import LEASE_DURATION_SECONDS, Prefer, Publish, Take

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.controlplane.elections.objects import Candidate, Lease
    from steersman.controlplane.elections.step import Create

    Tree = dict[str, Any]


def new_lease(create: Create, *, namespace: str, name: str, now: datetime) -> Tree:
    """The Lease to make; without a holder it only tells the strategy."""
    spec: Tree = {"strategy": create.strategy, "leaseDurationSeconds": LEASE_DURATION_SECONDS}
    spec["renewTime"] = format_micro_time(now)
    if create.holder:
        spec["holderIdentity"] = create.holder
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def lease_patch(write: Take | Prefer | Publish, lease: Lease, *, now: datetime) -> Tree:
    """The merge patch that a decision about an existing Lease means."""
    spec: Tree = {"strategy": write.strategy or None}
    match write:
        case Take(holder):
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
    """The merge patch that asks a candidate whether it lives."""
    return {"metadata": {"resourceVersion": candidate.resource_version}, "spec": {"pingTime": format_micro_time(now)}}
