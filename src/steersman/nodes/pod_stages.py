"""Built-in sets of stages for pods.

``default``: a pod starts at once and is ready; a Job's pod then completes, and commands that are understood end by
themselves. ``never-end``: containers run until the pod is deleted, past its deadline, or until an annotation ends them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.nodes import pod_changes, pod_status
from steersman.nodes.pod_status import is_finished, is_running, is_terminating, spec_of, status_of
from steersman.nodes.simulation.pod_plan import is_jobs, is_settled, plan
from steersman.nodes.stages import Delay, Outcome, Stage, Surroundings

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.nodes.simulation.images import Event

    Tree = dict[str, Any]

_SIGTERM_CODE: Final = 143


def _lives(pod: Tree) -> bool:
    return not is_terminating(pod) and is_running(pod)


# The simulated kubelet as stages: an object is in one of them while a transition is pending.


def _is_new(pod: Tree, now: datetime, *, ends: bool) -> bool:
    if is_terminating(pod) or status_of(pod).get("phase", "Pending") not in ("", "Pending"):
        return False
    return not status_of(pod).get("containerStatuses") or _has_next(pod, now, ends=ends)


def _runs(pod: Tree, now: datetime, *, ends: bool, of_job: bool) -> bool:
    if not _lives(pod) or is_jobs(pod) is not of_job or is_settled(pod, ends=ends):
        return False
    return _has_next(pod, now, ends=ends)


def _has_next(pod: Tree, now: datetime, *, ends: bool) -> bool:
    following = plan(pod, Surroundings(now), ends=ends)
    return following.status is not None or following.due is not None


def _due(pod: Tree, now: datetime, *, ends: bool) -> datetime | float | None:
    if not status_of(pod).get("containerStatuses"):
        return 0.0
    return plan(pod, Surroundings(now), ends=ends).due or 0.0


def _advance(pod: Tree, around: Surroundings, *, ends: bool) -> Outcome:
    following = plan(pod, around, ends=ends)
    events = tuple((each.type, each.reason, each.message, _field_path(pod, each)) for each in following.events)
    return Outcome({"status": following.status} if following.status is not None else None, events=events)


def _field_path(pod: Tree, event: Event) -> str:
    if not event.container:
        return ""
    names = {each["name"] for each in spec_of(pod).get("initContainers") or ()}
    return f"spec.{'initContainers' if event.container in names else 'containers'}{{{event.container}}}"


# Changes of the spec, readiness gates, and the end


def _stop(pod: Tree, around: Surroundings) -> Outcome:
    return Outcome({"status": pod_status.finished(pod, around, exit_code=_SIGTERM_CODE)})


_GATES: Final = Stage(
    "pod-readiness-gates",
    lambda pod, _now: _lives(pod) and pod_status.gates_disagree(pod),
    lambda pod, around: Outcome({"status": pod_status.gates_followed(pod, around)}),
    weight=1000,
)
_SPEC: Final = Stage(
    "pod-spec-changed",
    lambda pod, _now: _lives(pod) and pod_changes.is_behind(pod),
    lambda pod, around: Outcome({"status": pod_changes.followed(pod, around)}),
    weight=1000,
)
#: Containers end before the pod is deleted, so that watchers see how.
_STOP: Final = Stage("pod-stop", lambda pod, _now: is_terminating(pod) and not is_finished(pod), _stop)
_DELETE: Final = Stage(
    "pod-delete", lambda pod, _now: is_terminating(pod) and is_finished(pod), lambda *_: Outcome(delete=True)
)


def _stages(*, ends: bool) -> tuple[Stage, ...]:
    turns, delay = partial(_advance, ends=ends), Delay(until=partial(_due, ends=ends), counts_once=False)
    return (
        Stage("pod-ready", partial(_is_new, ends=ends), turns, delay),
        _GATES,
        _SPEC,
        Stage("pod-containers", partial(_runs, ends=ends, of_job=False), turns, delay),
        Stage("pod-complete", partial(_runs, ends=ends, of_job=True), turns, delay),
        _STOP,
        _DELETE,
    )


#: By the names that ``--stages`` takes.
STAGE_SETS: Final[dict[str, tuple[Stage, ...]]] = {"default": _stages(ends=True), "never-end": _stages(ends=False)}
