"""Snapshots of the initial objects of API servers, which later servers in the process reuse.

A start without objects sends some 290 requests; with them none is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.testing.host.snapshots import ClusterSnapshot

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.dump import StoreDump

#: Bound of snapshots, one for each distinct set of options.
SNAPSHOTS_MAX: Final = 16


class BootstrapSnapshots:
    """Snapshots by the options of the server."""

    def __init__(self) -> None:
        #: Snapshots by the text of the options, oldest first.
        self._snapshots: Final[dict[str, ClusterSnapshot]] = {}

    def get(self, options: APIServerOptions, *, now: datetime) -> StoreDump | None:
        """Return the objects as if created ``now``, with new UIDs; None without a snapshot."""
        snapshot = self._snapshots.get(repr(options))
        return None if snapshot is None else snapshot.moved(now - snapshot.now).with_other_uids().dump

    def add(self, options: APIServerOptions, dump: StoreDump, *, now: datetime) -> None:
        """Add the objects that a server created ``now``."""
        if len(self._snapshots) >= SNAPSHOTS_MAX:
            del self._snapshots[next(iter(self._snapshots))]
        # Timestamps of objects have no fractions.
        self._snapshots[repr(options)] = ClusterSnapshot(dump, now.replace(microsecond=0))
