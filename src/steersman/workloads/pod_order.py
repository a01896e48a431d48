"""Deletion order of surplus Pods, apart from sibling counts and deletion costs. Upstream: ``controller.ActivePods``.

The first difference decides: unassigned before assigned; Pending before Unknown before Running; not ready before
ready; ready for a shorter time; more restarts; younger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.workloads.pods import is_ready, most_restarts, node_of, phase_of, ready_since

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from lightkube.models.core_v1 import Pod

#: Go's zero value of a phase is not among these and has the rank of Pending.
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def least_loss_first(pods: Iterable[Pod]) -> list[Pod]:
    """Return the Pods in the order of deletion."""
    return sorted(pods, key=_sort_key)


def _sort_key(pod: Pod) -> tuple[object, ...]:
    regular, sidecar = most_restarts(pod)
    return (
        bool(node_of(pod)),
        _PHASES.get(phase_of(pod), 0),
        is_ready(pod),
        _youngest_first(ready_since(pod)),
        -regular,
        -sidecar,
        _youngest_first(pod.metadata.creationTimestamp if pod.metadata else None),
    )


def _youngest_first(since: datetime | None) -> float:
    """Return the sort key of a start time; a missing time sorts first."""
    return float("-inf") if since is None else -since.timestamp()
