"""Log of scheduling attempts, enabled by ``-v 2``: one line for each pod that was bound, or that found no node.

Messages are kube-scheduler's (``pkg/scheduler/schedule_one.go``).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.durations import format_duration
from steersman.asynckit.structured_logging import V2, log_fields

if TYPE_CHECKING:
    from steersman.scheduler.core import AssumedPod, UnschedulablePod
    from steersman.scheduler.queue import QueuedPod

_log: Final = logging.getLogger(__name__)


def logs_decisions() -> bool:
    """Report whether the verbosity includes these lines."""
    return _log.isEnabledFor(V2)


def log_bound(placed: AssumedPod, seconds: float) -> None:
    """Log a pod that was bound, ``seconds`` after its attempt began."""
    fields = _attempt(placed.queued, placed.profile.name)
    fields |= {"node": placed.node, "duration": format_duration(seconds)}
    log_fields(_log, V2, "Successfully bound pod to node", fields)


def log_failed(failed: UnschedulablePod, seconds: float) -> None:
    """Log a pod without a node, after an attempt of ``seconds``."""
    fields = _attempt(failed.queued, failed.profile.name)
    if failed.victims is not None:
        fields["nominatedNode"] = failed.victims.node
        fields["victims"] = [pod.key for pod in failed.victims.pods]
    fields |= {"err": failed.message, "duration": format_duration(seconds)}
    message = "Error scheduling pod; retrying" if failed.is_fault else "Unable to schedule pod; no fit; waiting"
    log_fields(_log, V2, message, fields)


def _attempt(queued: QueuedPod, profile: str) -> dict[str, Any]:
    return {
        "controller": "scheduler",
        "profile": profile,
        "pod": queued.pod.key,
        "cause": queued.cause_text,
        "attempt": queued.attempts,
    }
