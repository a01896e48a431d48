"""Decoded Lease and LeaseCandidate objects, with the fields that elections use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.timestamps import parse_time
from steersman.controlplane.elections.versions import Version, parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Earlier and later times are read as these, so that the rules can add durations.
_FIRST: Final = datetime(2, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9000, 1, 1, tzinfo=UTC)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Decoded LeaseCandidate."""

    name: str
    lease_name: str
    binary: Version
    emulation: Version
    strategy: str
    created: datetime
    #: ``renewTime``; None: the candidate does not take part.
    renewed: datetime | None = None
    #: ``pingTime``.
    pinged: datetime | None = None
    resource_version: str = ""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Decoded Lease."""

    #: ``holderIdentity``; empty: released.
    holder: str = ""
    preferred: str = ""
    strategy: str = ""
    renewed: datetime | None = None
    duration_seconds: int | None = None
    resource_version: str = ""

    @property
    def expires(self) -> datetime:
        """Expiration time; the epoch when the Lease does not define it."""
        if self.renewed is None or self.duration_seconds is None:
            return _EPOCH
        return self.renewed + timedelta(seconds=self.duration_seconds)


def read_candidate(tree: Mapping[str, Any]) -> Candidate:
    """Decode a LeaseCandidate of any served version."""
    metadata, spec = tree["metadata"], tree.get("spec") or {}
    return Candidate(
        name=metadata["name"],
        lease_name=spec.get("leaseName") or "",
        binary=parse_version(spec.get("binaryVersion") or ""),
        emulation=parse_version(spec.get("emulationVersion") or ""),
        strategy=spec.get("strategy") or "",
        created=_time(metadata.get("creationTimestamp")) or _EPOCH,
        renewed=_time(spec.get("renewTime")),
        pinged=_time(spec.get("pingTime")),
        resource_version=metadata.get("resourceVersion") or "",
    )


def read_lease(tree: Mapping[str, Any]) -> Lease:
    """Decode a Lease, of a coordinated or a classic election."""
    spec = tree.get("spec") or {}
    return Lease(
        holder=spec.get("holderIdentity") or "",
        preferred=spec.get("preferredHolder") or "",
        strategy=spec.get("strategy") or "",
        renewed=_time(spec.get("renewTime")),
        duration_seconds=spec.get("leaseDurationSeconds"),
        resource_version=(tree.get("metadata") or {}).get("resourceVersion") or "",
    )


def _time(text: str | None) -> datetime | None:
    return min(max(parse_time(text), _FIRST), _LAST) if text else None
