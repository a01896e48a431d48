"""What an election looks at: the Lease and the LeaseCandidates, read from their trees."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.timestamps import parse_time
from steersman.controlplane.elections.versions import Version, parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One who would like to hold a Lease."""

    name: str
    lease_name: str
    binary: Version
    emulation: Version
    strategy: str
    created: datetime
    #: When it last said that it lives; None: never, so it takes no part.
    renewed: datetime | None = None
    #: When it was last asked whether it lives.
    pinged: datetime | None = None
    resource_version: str = ""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The Lease as far as elections care."""

    #: Empty: nobody holds it.
    holder: str = ""
    preferred: str = ""
    strategy: str = ""
    renewed: datetime | None = None
    duration_seconds: int | None = None
    resource_version: str = ""

    @property
    def expires(self) -> datetime:
        """From when on it is anybody's; long ago when the Lease does not say."""
        if self.renewed is None or self.duration_seconds is None:
            return _LONG_AGO
        return self.renewed + timedelta(seconds=self.duration_seconds)


def read_candidate(tree: Mapping[str, Any]) -> Candidate:
    """A LeaseCandidate of any served version: they are alike but for their name."""
    metadata, spec = tree["metadata"], tree.get("spec") or {}
    return Candidate(
        name=metadata["name"],
        lease_name=spec.get("leaseName") or "",
        binary=parse_version(spec.get("binaryVersion") or ""),
        emulation=parse_version(spec.get("emulationVersion") or ""),
        strategy=spec.get("strategy") or "",
        created=_time(metadata.get("creationTimestamp")) or _LONG_AGO,
        renewed=_time(spec.get("renewTime")),
        pinged=_time(spec.get("pingTime")),
        resource_version=metadata.get("resourceVersion") or "",
    )


def read_lease(tree: Mapping[str, Any]) -> Lease:
    """A Lease, also one that a classic election made."""
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
    return parse_time(text) if text else None
