"""Leader election record and its mapping to the spec of a Lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steersman.apimachinery.timestamps import format_micro_time, parse_time

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree


@dataclass(frozen=True, slots=True)
class LeaderElectionRecord:
    """Contents of a lock. Upstream: ``resourcelock.LeaderElectionRecord``.

    The timestamps are informative only: clocks differ, so no decision depends on them.
    """

    #: Identity of the holder; empty: released.
    holder: str
    lease_duration_seconds: int
    acquired_at: datetime | None = None
    renewed_at: datetime | None = None
    #: Number of changes of the holder.
    transitions: int = 0
    #: Set by coordinated leader election: strategy of the election, …
    strategy: str = ""
    #: … and identity of a better candidate, for which the holder must yield.
    preferred_holder: str = ""


def record_of(lease: Tree) -> LeaderElectionRecord:
    """Return the record of a ``Lease``."""
    spec = lease.get("spec") or {}
    return LeaderElectionRecord(
        holder=spec.get("holderIdentity") or "",
        lease_duration_seconds=spec.get("leaseDurationSeconds") or 0,
        acquired_at=_time(spec.get("acquireTime")),
        renewed_at=_time(spec.get("renewTime")),
        transitions=spec.get("leaseTransitions") or 0,
        strategy=spec.get("strategy") or "",
        preferred_holder=spec.get("preferredHolder") or "",
    )


def spec_of(record: LeaderElectionRecord) -> Tree:
    """Return the ``spec`` of a ``Lease``. An empty holder is written, as upstream does on release."""
    spec: Tree = {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.lease_duration_seconds,
        "leaseTransitions": record.transitions,
    }
    if record.acquired_at is not None:
        spec["acquireTime"] = format_micro_time(record.acquired_at)
    if record.renewed_at is not None:
        spec["renewTime"] = format_micro_time(record.renewed_at)
    if record.strategy:
        spec["strategy"] = record.strategy
    if record.preferred_holder:
        spec["preferredHolder"] = record.preferred_holder
    return spec


def _time(text: str | None) -> datetime | None:
    return None if text is None else parse_time(text)
