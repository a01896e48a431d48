"""What a lock says of its holder, apart from how it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steersman.apimachinery.timestamps import format_micro_time, parse_time

if TYPE_CHECKING:
    from datetime import datetime

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """The contents of a lock. The times are for people: nobody judges by them, as clocks differ."""

    #: Identity of the holder; empty: free.
    holder: str
    lease_duration_seconds: int
    acquired_at: datetime | None = None
    renewed_at: datetime | None = None
    #: How often the holder changed.
    transitions: int = 0
    #: Set by coordinated election: how the holder is chosen, …
    strategy: str = ""
    #: … and who would be better: the holder is asked to give up.
    preferred_holder: str = ""


def record_of(lease: Tree) -> Record:
    """What a ``Lease`` says."""
    spec = lease.get("spec") or {}
    return Record(
        holder=spec.get("holderIdentity") or "",
        lease_duration_seconds=spec.get("leaseDurationSeconds") or 0,
        acquired_at=_time(spec.get("acquireTime")),
        renewed_at=_time(spec.get("renewTime")),
        transitions=spec.get("leaseTransitions") or 0,
        strategy=spec.get("strategy") or "",
        preferred_holder=spec.get("preferredHolder") or "",
    )


def spec_of(record: Record) -> Tree:
    """The ``spec`` of a ``Lease`` that says it. An empty holder is written, as upstream does when it releases."""
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
