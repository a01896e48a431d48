"""Next status of a simulated pod (upstream: ``syncPod``, ``generateAPIPodStatus`` and ``getPhase`` of the kubelet)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.timestamps import add_seconds, format_time, parse_time
from steersman.nodes import pod_status, pod_termination
from steersman.nodes.pod_conditions import container_conditions
from steersman.nodes.pod_status import (
    RESTARTING_ALL,
    SIGTERM_CODE,
    conditions,
    deadline_of,
    is_sidecar,
    restart_action,
    spec_of,
    status_of,
)
from steersman.nodes.simulation.behavior import (
    EVICT_AFTER,
    EVICT_RESOURCE,
    PREFIX,
    Behavior,
    annotations_of,
    behavior_of,
    invalid_annotations,
    parse_seconds,
)
from steersman.nodes.simulation.containers import (
    SIGKILL_CODE,
    Context,
    Step,
    advance,
    exited,
    finished,
    not_started,
    program_for,
)
from steersman.nodes.simulation.events import Event
from steersman.nodes.simulation.programs import FOREVER, Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.stages import StageContext


DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
EVICTED: Final = "Evicted"
_DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"


class PodPlan(NamedTuple):
    """Next status of a pod as a patch; None if unchanged until ``due``, or permanently."""

    status: Tree | None = None
    due: datetime | None = None
    events: tuple[Event, ...] = ()


def is_controlled_by_job(pod: Tree) -> bool:
    """True if a Job controls the pod."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("kind") == "Job" for owner in owners)


def is_settled(pod: Tree, *, ends: bool) -> bool:
    """True for a running pod for which nothing is due, without computing a plan. Called often, so it checks the common
    case only.
    """
    spec = spec_of(pod)
    if spec.get("initContainers") or spec.get("activeDeadlineSeconds") is not None or is_controlled_by_job(pod):
        return False
    if any(name.startswith(PREFIX) for name in pod["metadata"].get("annotations") or ()):
        return False
    if ends and any(container.get("command") or container.get("args") for container in spec.get("containers") or ()):
        return False
    statuses = status_of(pod).get("containerStatuses") or ()
    return all(status.get("ready") and "running" in (status.get("state") or ()) for status in statuses)


def plan(pod: Tree, stage_context: StageContext, *, ends: bool) -> PodPlan:
    """Return the next status of a pod that is bound to a simulated node and is not being deleted.

    ``ends``: interpreted commands end by themselves, and containers of a Job's pod complete immediately.
    """
    annotations = annotations_of(pod)
    final = _final(pod, annotations)
    if final is not None and stage_context.now >= final.at:
        status = pod_termination.finished(
            pod, stage_context, exit_code=final.exit_code, reason=final.reason, message=final.message
        )
        status["conditions"] += final.conditions(pod, stage_context.now)
        return PodPlan(status, None, (Event(final.event_type, final.reason, final.message),))
    following = _Planner(pod, stage_context, annotations, ends=ends).plan()
    if final is not None and following.status is None:
        return following._replace(due=min(final.at, following.due) if following.due else final.at)
    return following


class _Final(NamedTuple):
    """Termination of the whole pod by its deadline or an eviction."""

    at: datetime
    reason: str
    message: str
    exit_code: int
    event_type: str

    def conditions(self, pod: Tree, now: datetime) -> list[Tree]:
        """Return the additional conditions of an eviction."""
        if self.reason != EVICTED:
            return []
        return conditions(pod, [("DisruptionTarget", True, "TerminationByKubelet", self.message)], now=now)


def _final(pod: Tree, annotations: Mapping[str, str]) -> _Final | None:
    """Return the earliest termination of the pod by its deadline or an eviction."""
    final_names = []
    deadline = deadline_of(pod)
    if deadline is not None:
        final_names.append(_Final(deadline, DEADLINE_EXCEEDED, _DEADLINE_MESSAGE, SIGTERM_CODE, "Normal"))
    after, since = parse_seconds(annotations.get(EVICT_AFTER)) if annotations else None, status_of(pod).get("startTime")
    if after is not None and since and pod_status.is_running(pod):
        message = f"The node was low on resource: {annotations.get(EVICT_RESOURCE, 'memory')}. "
        at = add_seconds(parse_time(since), after)
        final_names.append(_Final(at, EVICTED, message, SIGKILL_CODE, "Warning"))
    return min(final_names, default=None)


class _Planner:
    """One pass over the containers of a pod."""

    def __init__(self, pod: Tree, stage_context: StageContext, annotations: Mapping[str, str], *, ends: bool) -> None:
        self._pod = pod
        self._stage_context = stage_context
        self._annotations = annotations
        spec, status, now = spec_of(pod), status_of(pod), stage_context.now
        self._mains: list[Tree] = spec.get("containers") or []
        self._inits: list[Tree] = spec.get("initContainers") or []
        self._statuses: dict[str, Tree] = {
            container_status.get("name", ""): container_status
            for kind in ("initContainerStatuses", "containerStatuses")
            for container_status in status.get(kind) or ()
        }
        self._is_new = not pod_status.is_running(pod)
        since = status.get("startTime")
        ended = [parse_time(at) for init in self._inits if (at := self._finished_at(init["name"]))]
        started_at = parse_time(since) if since else now.replace(microsecond=0)
        self._context = Context(
            pod,
            now,
            max([started_at, *ended]),
            ends,
            Program(0.0) if ends and is_controlled_by_job(pod) else FOREVER,
            config_errors=stage_context.config_errors,
        )
        self._due: list[datetime] = []
        self._events: list[Event] = []
        self._has_changed = False

    def _state(self, name: str) -> Tree:
        state: Tree = (self._statuses.get(name) or {}).get("state") or {}
        return state

    def _finished_at(self, name: str) -> str:
        return str((self._state(name).get("terminated") or {}).get("finishedAt") or "")

    def plan(self) -> PodPlan:
        """Advance every container by one step; init containers that complete immediately, and their successors, by
        more.
        """
        if self._is_new and not self._statuses and self._annotations:
            for message in invalid_annotations(self._annotations):
                self._events.append(Event("Warning", "InvalidAnnotation", message))
        is_initialized = self._initialize()
        for main in self._mains:
            if not is_initialized:
                self._wait(main)
            elif (self._is_new or main["name"] in self._statuses) and self._advance(main, is_init=False):
                break  # all containers start again
        if not self._has_changed:
            return PodPlan(None, min(self._due, default=None))
        return PodPlan(self._status(), None, tuple(self._events))

    # Containers

    def _behavior(self, container: Tree) -> Behavior:
        return behavior_of(self._annotations, container["name"])

    def _advance(self, container: Tree, *, is_init: bool) -> bool:
        """Advance one container; return True if its exit restarts all containers."""
        context = self._context._replace(is_init=is_init)
        name = container["name"]
        step = advance(context, container, self._behavior(container), self._statuses.get(name))
        if step.restarts_all:
            self._restart_all()
        else:
            self._take(name, step)
        return step.restarts_all

    def _take(self, name: str, step: Step) -> None:
        self._events += step.events
        if step.status is not None:
            self._statuses[name] = step.status
            self._has_changed = True
        elif step.due is not None:
            self._due.append(step.due)

    def _wait(self, container: Tree) -> None:
        if container["name"] not in self._statuses:
            self._statuses[container["name"]] = not_started(container, None, reason="PodInitializing")
            self._has_changed = True

    def _initialize(self) -> bool:
        """Advance init containers in order; return True if the other containers may run."""
        if any("running" in self._state(main["name"]) for main in self._mains):
            for init in self._inits:
                if is_sidecar(init) and init["name"] in self._statuses:
                    self._advance(init, is_init=True)
            return True
        is_initialized = True
        for init in self._inits:
            if not is_initialized:
                self._wait(init)
            else:
                is_initialized = self._initialize_one(init)
        return is_initialized

    def _initialize_one(self, container: Tree) -> bool:
        name, sidecar = container["name"], is_sidecar(container)
        if not sidecar and self._is_complete(name):
            return True
        self._advance(container, is_init=True)
        if sidecar:
            return bool((self._statuses.get(name) or {}).get("started"))
        if "running" in self._state(name):
            self._statuses[name] = {**self._statuses[name], "ready": False}
        state = self._state(name)
        program = program_for(self._context._replace(is_init=True), container, self._behavior(container))
        if "running" in state and program.seconds == 0:
            done = finished(container, self._statuses[name], self._context.now, program)
            self._statuses[name] = {**done, "ready": program.exit_code == 0}
        elif self._is_complete(name) and not self._statuses[name].get("ready"):
            self._statuses[name] = {**self._statuses[name], "ready": True}
        return self._is_complete(name)

    def _is_complete(self, name: str) -> bool:
        ended = self._state(name).get("terminated")
        return ended is not None and ended.get("exitCode", 0) == 0

    def _restart_all(self) -> None:
        """Stop every container and start all of them from the first init container on (KEP-5532)."""
        self._has_changed = True
        for container in [*self._inits, *self._mains]:
            status = self._statuses.get(container["name"])
            if status is None:
                continue
            if "running" in (status.get("state") or {}):
                status = exited(status, self._context.now, SIGKILL_CODE)
            ended = (status.get("state") or {}).get("terminated")
            last = {"terminated": ended} if ended else status.get("lastState") or {}
            self._statuses[container["name"]] = not_started(
                container, {**status, "lastState": last}, reason=RESTARTING_ALL
            )

    # The pod

    def _status(self) -> Tree:
        pod, now = self._pod, self._stage_context.now
        phase = self._phase()
        if phase in ("Succeeded", "Failed"):
            self._stop_sidecars()
        return {
            "phase": phase,
            "startTime": status_of(pod).get("startTime") or format_time(now),
            **pod_status.addresses(pod, self._stage_context),
            "conditions": conditions(pod, container_conditions(pod, self._statuses, phase), now=now),
            **dict(self._listed()),
            "observedGeneration": pod["metadata"].get("generation", 1),
        }

    def _listed(self) -> Iterator[tuple[str, list[Tree]]]:
        for field, containers in (("containerStatuses", self._mains), ("initContainerStatuses", self._inits)):
            statuses = [
                self._statuses[container["name"]] for container in containers if container["name"] in self._statuses
            ]
            if statuses:
                yield field, statuses

    def _stop_sidecars(self) -> None:
        for init in self._inits:
            status = self._statuses.get(init["name"])
            if status is not None and "running" in (status.get("state") or {}):
                self._statuses[init["name"]] = exited(status, self._context.now, 0)

    def _phase(self) -> str:
        for init in self._inits:
            ended = self._state(init["name"]).get("terminated")
            if ended is not None and not is_sidecar(init) and ended.get("exitCode", 0) != 0:
                return "Pending" if self._restarts(init, ended, is_init=True) else "Failed"
            if not is_sidecar(init) and ended is None and init["name"] in self._statuses:
                return "Pending"
        states = [self._state(main["name"]) for main in self._mains]
        if not states or any(self._never_ran(main["name"]) for main in self._mains):
            return "Pending"
        ends = [state.get("terminated") for state in states]
        for container, ended in zip(self._mains, ends, strict=True):
            if ended is None or self._restarts(container, ended, is_init=False):
                return "Running"
        return "Succeeded" if all(ended and ended.get("exitCode", 0) == 0 for ended in ends) else "Failed"

    def _never_ran(self, name: str) -> bool:
        status = self._statuses.get(name) or {}
        return "waiting" in (status.get("state") or {"waiting": {}}) and not status.get("lastState")

    def _restarts(self, container: Tree, ended: Tree, *, is_init: bool) -> bool:
        return bool(restart_action(self._context.pod, container, ended.get("exitCode", 0), is_init=is_init))
