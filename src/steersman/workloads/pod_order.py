"""In which order Pods that are too many go, where siblings and costs do not count (``ActivePods`` of ``pkg/controller``).

The first of these that tells two Pods apart decides: on no node; Pending before Unknown before Running; not ready; ready
for a shorter time; more restarts; younger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.workloads.pods import is_ready, most_restarts, node_of, phase_of, ready_since

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from lightkube.models.core_v1 import Pod

#: Go's zero value of a phase is none of these and counts as Pending does.
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def least_loss_first(pods: Iterable[Pod]) -> list[Pod]:
    """The Pods, those in front whose end loses least."""
    return sorted(pods, key=_standing)


def _standing(pod: Pod) -> tuple[object, ...]:
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
    """What does not tell when it began comes first."""
    return float("-inf") if since is None else -since.timestamp()
