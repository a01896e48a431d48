"""Candidates that released a Lease: they are probably exiting, so their acknowledgements are not awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from steersman.controlplane.elections.objects import Candidate, Lease


class Departures:
    """Former holders of one Lease, as observed by this process."""

    def __init__(self) -> None:
        self._holder = ""
        #: Time at which each candidate released the Lease.
        self._released: dict[str, datetime] = {}

    def update(self, lease: Lease | None, candidates: Mapping[str, Candidate], *, now: datetime) -> frozenset[str]:
        """Return candidates that released the Lease and have not renewed their candidacy since."""
        holder = lease.holder if lease is not None else ""
        if lease is not None and self._holder and not holder:
            self._released[self._holder] = lease.renewed or now
        self._holder = holder
        self._released = {
            name: at
            for name, at in self._released.items()
            if (candidate := candidates.get(name)) is not None
            and candidate.renewed is not None
            and candidate.renewed <= at
        }
        return frozenset(self._released)
