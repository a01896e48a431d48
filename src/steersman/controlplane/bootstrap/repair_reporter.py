"""Reports of repair loops: logs, metrics, and events on the objects."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import Family, counter
from steersman.client.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.client.events import SeriesRecorder
    from steersman.controlplane.bootstrap.findings import Finding

_log: Final = logging.getLogger(__name__)

#: Findings during start that are queued until events can be written; further ones are only logged.
_WAITING_MAX: Final = 100


class Reporter:
    """Reporter of one loop. Events are buffered until there is a recorder."""

    def __init__(self, metric: str, objects: str) -> None:
        """Create a reporter; ``metric`` is the prefix of its counters' names, ``objects`` is their noun."""
        self._metric = metric
        self._objects = objects
        self._recorder: SeriesRecorder | None = None
        self._waiting: list[Finding] = []
        self._faults: dict[str, int] = {}
        self._failed_passes = 0

    def begin(self, recorder: SeriesRecorder) -> None:
        """Write events from now on, queued ones first."""
        self._recorder = recorder
        waiting, self._waiting = self._waiting, []
        for finding in waiting:
            self._record(finding)

    def report(self, findings: Iterable[Finding]) -> None:
        """Report findings."""
        for finding in findings:
            self._faults[finding.fault] = self._faults.get(finding.fault, 0) + 1
            _log.warning("%s: %s", key_of(finding.about), finding.note)
            self._record(finding)

    def failed(self) -> None:
        """Count a pass that failed."""
        self._failed_passes += 1

    async def collect(self) -> list[Family]:
        """Yield the metrics, with upstream's names."""
        faults = [((("type", fault),), count) for fault, count in self._faults.items()]
        return [
            counter(f"{self._metric}_errors_total", f"Faults of {self._objects} that a repair loop found.", faults),
            counter(
                f"{self._metric.rpartition('_')[0]}_reconcile_errors_total",
                f"Passes over {self._objects} that could not be finished.",
                [((), self._failed_passes)],
            ),
        ]

    def _record(self, finding: Finding) -> None:
        if self._recorder is not None:
            self._recorder.event(finding.about, "Warning", finding.reason, finding.action, finding.note)
        elif len(self._waiting) < _WAITING_MAX:
            self._waiting.append(finding)
