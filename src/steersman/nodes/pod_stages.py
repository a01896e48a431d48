"""The lives that pods lead when nobody says otherwise.

``default``: a pod starts at once and is ready; a Job's pod then completes. ``never-end``: containers run until the pod is
deleted, or past its deadline. In both an annotation can say that containers end by themselves after so long, and with
which code; the restart policy does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.nodes import pod_changes, pod_status
from steersman.nodes.pod_status import annotation, is_finished, is_running, is_terminating, status_of
from steersman.nodes.stages import Delay, Outcome, Stage

if TYPE_CHECKING:
    from steersman.nodes.stages import Surroundings

    Tree = dict[str, Any]

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
_DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"
_SIGTERM_CODE: Final = 143


def _is_new(pod: Tree) -> bool:
    return not is_terminating(pod) and status_of(pod).get("phase", "Pending") in ("", "Pending")


def _lives(pod: Tree) -> bool:
    return not is_terminating(pod) and is_running(pod)


def _is_jobs(pod: Tree) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(each.get("controller") and each.get("kind") == "Job" for each in owners)


def _start(pod: Tree, around: Surroundings) -> Outcome:
    return Outcome({"status": pod_status.running(pod, around)})


def _end(pod: Tree, around: Surroundings) -> Outcome:
    code = pod_status.exit_code_of(pod)
    if pod_status.restarts(pod, code) and annotation(pod, pod_status.RUN_SECONDS):
        return Outcome({"status": pod_status.restarted(pod, around, exit_code=code)})
    return Outcome({"status": pod_status.finished(pod, around, exit_code=code)})


def _expire(pod: Tree, around: Surroundings) -> Outcome:
    status = pod_status.finished(
        pod, around, exit_code=_SIGTERM_CODE, reason=DEADLINE_EXCEEDED, message=_DEADLINE_MESSAGE
    )
    return Outcome({"status": status}, event=("Normal", DEADLINE_EXCEEDED, _DEADLINE_MESSAGE))


def _stop(pod: Tree, around: Surroundings) -> Outcome:
    return Outcome({"status": pod_status.finished(pod, around, exit_code=_SIGTERM_CODE)})


def _follow_gates(pod: Tree, around: Surroundings) -> Outcome:
    return Outcome({"status": pod_status.gates_followed(pod, around)})


def _follow_spec(pod: Tree, around: Surroundings) -> Outcome:
    return Outcome({"status": pod_changes.followed(pod, around)})


_START: Final = Stage("pod-ready", _is_new, _start)
_GATES: Final = Stage(
    "pod-readiness-gates",
    lambda pod: _lives(pod) and pod_status.gates_disagree(pod),
    _follow_gates,
    weight=1000,
)
_SPEC: Final = Stage(
    "pod-spec-changed", lambda pod: _lives(pod) and pod_changes.is_behind(pod), _follow_spec, weight=1000
)
_RUN_OUT: Final = Stage(
    "pod-run-out",
    lambda pod: _lives(pod) and bool(annotation(pod, pod_status.RUN_SECONDS)),
    _end,
    Delay(until=pod_status.ends_at, counts_once=False),
)
_COMPLETE: Final = Stage(
    "pod-complete",
    lambda pod: _lives(pod) and _is_jobs(pod) and not annotation(pod, pod_status.RUN_SECONDS),
    _end,
)
_EXPIRE: Final = Stage(
    "pod-deadline",
    lambda pod: (
        _lives(pod)
        and pod_status.spec_of(pod).get("activeDeadlineSeconds") is not None
        and not annotation(pod, pod_status.RUN_SECONDS)
    ),
    _expire,
    Delay(until=pod_status.deadline_of, counts_once=False),
)
#: Containers end first, so that whoever counts how pods ended sees it; then the pod goes.
_STOP: Final = Stage("pod-stop", lambda pod: is_terminating(pod) and not is_finished(pod), _stop)
_DELETE: Final = Stage(
    "pod-delete", lambda pod: is_terminating(pod) and is_finished(pod), lambda *_: Outcome(delete=True)
)

#: By name, as ``--stages`` takes it. A Job's pod has no deadline of its own to wait for: it completes before.
STAGE_SETS: Final[dict[str, tuple[Stage, ...]]] = {
    "default": (_START, _GATES, _SPEC, _RUN_OUT, _COMPLETE, _EXPIRE, _STOP, _DELETE),
    "never-end": (_START, _GATES, _SPEC, _RUN_OUT, _EXPIRE, _STOP, _DELETE),
}
