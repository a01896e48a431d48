"""Built-in sets of stages for pods.

``default``: a pod starts and becomes ready immediately; a pod of a Job then completes, and commands that the simulator
interprets end by themselves. ``never-end``: containers run until the pod is deleted, exceeds its deadline, or an
annotation ends them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.nodes import pod_changes, pod_status, pod_termination
from steersman.nodes.pod_status import is_finished, is_running, is_terminating, status_of
from steersman.nodes.simulation.events import stop_event
from steersman.nodes.simulation.pod_plan import is_controlled_by_job, is_settled, plan
from steersman.nodes.stages import Delay, Outcome, Stage, StageContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.simulation.events import Event


def _is_active(pod: Tree) -> bool:
    return not is_terminating(pod) and is_running(pod)


# The simulated kubelet as stages: an object is in a stage while its transition is pending.


def _is_new(pod: Tree, now: datetime, *, ends: bool) -> bool:
    if is_terminating(pod) or status_of(pod).get("phase", "Pending") not in ("", "Pending"):
        return False
    return not status_of(pod).get("containerStatuses") or _has_next(pod, now, ends=ends)


def _runs(pod: Tree, now: datetime, *, ends: bool, is_job_pod: bool) -> bool:
    if not _is_active(pod) or is_controlled_by_job(pod) is not is_job_pod or is_settled(pod, ends=ends):
        return False
    return _has_next(pod, now, ends=ends)


def _has_next(pod: Tree, now: datetime, *, ends: bool) -> bool:
    following = plan(pod, StageContext(now), ends=ends)
    return following.status is not None or following.due is not None


def _due(pod: Tree, now: datetime, *, ends: bool) -> datetime | float | None:
    if not status_of(pod).get("containerStatuses"):
        return 0.0
    return plan(pod, StageContext(now), ends=ends).due or 0.0


def _advance(pod: Tree, stage_context: StageContext, *, ends: bool) -> Outcome:
    following = plan(pod, stage_context, ends=ends)
    patch = {"status": following.status} if following.status is not None else None
    return Outcome(patch, events=_events(pod, following.events), due=following.due)


def _events(pod: Tree, events: Iterable[Event]) -> tuple[tuple[str, str, str, str], ...]:
    return tuple(
        (event.type, event.reason, event.message, pod_status.container_field_path(pod, event.container))
        for event in events
    )


# Spec changes, readiness gates, termination


def _stop(pod: Tree, stage_context: StageContext) -> Outcome:
    events = _events(pod, map(stop_event, pod_status.running_containers(pod)))
    return Outcome(
        {"status": pod_termination.finished(pod, stage_context, exit_code=pod_status.SIGTERM_CODE)}, events=events
    )


def _follow_spec(pod: Tree, stage_context: StageContext) -> Outcome:
    status, events = pod_changes.status_for_spec(pod, stage_context)
    return Outcome({"status": status}, events=_events(pod, events))


_GATES: Final = Stage(
    "pod-readiness-gates",
    lambda pod, _now: _is_active(pod) and pod_status.is_ready_condition_stale(pod),
    lambda pod, stage_context: Outcome({"status": pod_status.ready_condition_patch(pod, stage_context)}),
    weight=1000,
)
_SPEC: Final = Stage(
    "pod-spec-changed",
    lambda pod, _now: _is_active(pod) and pod_changes.is_spec_unobserved(pod),
    _follow_spec,
    weight=1000,
)
#: Containers terminate before the pod is deleted, so that watchers observe their exit codes.
_STOP: Final = Stage(
    "pod-stop",
    lambda pod, _now: is_terminating(pod) and not is_finished(pod),
    _stop,
    Delay(until=lambda pod, _now: pod_termination.stop_time(pod), is_counted_once=False),
)
_DELETE: Final = Stage(
    "pod-delete", lambda pod, _now: is_terminating(pod) and is_finished(pod), lambda *_: Outcome(delete=True)
)


def _stages(*, ends: bool) -> tuple[Stage, ...]:
    advance, delay = partial(_advance, ends=ends), Delay(until=partial(_due, ends=ends), is_counted_once=False)

    def containers(name: str, matches: Callable[[Tree, datetime], bool]) -> Stage:
        return Stage(name, matches, advance, delay, applies_config_errors=True)

    return (
        containers("pod-ready", partial(_is_new, ends=ends)),
        _GATES,
        _SPEC,
        containers("pod-containers", partial(_runs, ends=ends, is_job_pod=False)),
        containers("pod-complete", partial(_runs, ends=ends, is_job_pod=True)),
        _STOP,
        _DELETE,
    )


#: Sets by their names in ``--stages``.
STAGE_SETS: Final[dict[str, tuple[Stage, ...]]] = {"default": _stages(ends=True), "never-end": _stages(ends=False)}
