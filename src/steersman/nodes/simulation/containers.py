"""Next status of a container of a simulated pod, and its due time.

============================  ==========================================================  =================================
state                         transition                                                  next state
============================  ==========================================================  =================================
none, ``waiting``             when its image and its configuration are present            ``running``
``waiting`` for its image     at the next pull                                            ``running``, or another ``waiting``
``running``                   when its program exits, or a probe kills it                 ``terminated``
``terminated``                immediately, if it restarts                                 ``running``, or CrashLoopBackOff
``waiting`` CrashLoopBackOff  after the back-off                                          ``running``
============================  ==========================================================  =================================
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.timestamps import add_seconds, format_time, parse_time
from steersman.nodes.pod_status import (
    RESTART_ALL,
    container_id,
    is_sidecar,
    mounted_volumes,
    restart_action,
    root_error,
    terminated,
    user_of,
    with_resources,
)
from steersman.nodes.simulation.backoff import (
    CRASH_LOOP_BACK_OFF,
    back_off_event,
    back_off_message,
    restart_delay_seconds,
    restart_time,
)
from steersman.nodes.simulation.events import Event, config_error_events, start_events
from steersman.nodes.simulation.images import image_problem, is_pulled
from steersman.nodes.simulation.probes import Health, health
from steersman.nodes.simulation.programs import FOREVER, Program, program_of
from steersman.nodes.termination_message import termination_message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.simulation.behavior import Behavior


CONFIG_ERROR: Final = "CreateContainerConfigError"
OOM_KILLED: Final = "OOMKilled"
SIGKILL_CODE: Final = 137
CRASH_CODE: Final = 1
#: Fields of a waiting container's status that describe its last run.
_OF_LAST_RUN: Final = ("containerID", "resources", "allocatedResources", "user")


class Context(NamedTuple):
    """Inputs of a container's next status, except its spec, status and behavior."""

    pod: Tree
    now: datetime
    #: Time of the pod's first image pull.
    since: datetime
    #: True to interpret commands; otherwise only annotations end a container.
    interprets: bool
    #: Program of containers whose command is not interpreted.
    default: Program
    is_init: bool = False
    #: Why containers cannot be created, by container.
    config_errors: Mapping[str, str] = MappingProxyType({})


class Step(NamedTuple):
    """Next status of a container; None if unchanged until ``due``, or permanently."""

    status: Tree | None = None
    due: datetime | None = None
    events: tuple[Event, ...] = ()
    #: True if the exit code matched a rule with the action RestartAllContainers.
    restarts_all: bool = False


def advance(context: Context, container: Tree, behavior: Behavior, status: Tree | None) -> Step:
    """Return the container's next step."""
    state = (status or {}).get("state") or {}
    if status is not None and state.get("running") is not None:
        return _run(context, container, behavior, status)
    if status is not None and state.get("terminated") is not None:
        return _after_exit(context, container, behavior, status)
    if status is not None and (state.get("waiting") or {}).get("reason") == CRASH_LOOP_BACK_OFF:
        due = restart_time(status)
        if due is not None and context.now < due:
            return Step(due=due)
    return start(context, container, behavior, status)


def program_for(context: Context, container: Tree, behavior: Behavior) -> Program:
    """Return the container's program: annotations first, then its command, then the default."""
    code = behavior.exit_code
    candidates = [
        Program(behavior.oom_after_seconds, SIGKILL_CODE, OOM_KILLED),
        Program(behavior.crash_after_seconds, code or CRASH_CODE),
        Program(behavior.run_seconds, code or 0),
    ]
    ending = [candidate for candidate in candidates if candidate.seconds is not None]
    if ending:
        return min(ending, key=lambda candidate: candidate.seconds or 0.0)
    program = program_of(container) if context.interprets else None
    if program is None:
        program = Program(0.0) if context.is_init else context.default
        if is_sidecar(container):
            program = FOREVER
    return program if code is None or program.seconds is None else program._replace(exit_code=code)


# Starting


def start(context: Context, container: Tree, behavior: Behavior, status: Tree | None) -> Step:
    """Start or restart a container, or report the problem of its image or configuration."""
    old = status or {}
    state = old.get("state") or {}
    last = {"terminated": state["terminated"]} if state.get("terminated") else old.get("lastState") or {}
    ended = (last.get("terminated") or {}).get("finishedAt")
    since = max(context.since, parse_time(ended)) if ended else context.since
    problem = image_problem(container, behavior, since=since, now=context.now)
    if problem is not None:
        reason = {"reason": problem.reason, "message": problem.message}
        if state.get("waiting") == reason:
            return Step(due=problem.until)
        return Step(_waiting(container, old, last, reason), problem.until, problem.events)
    error = context.config_errors.get(container["name"]) or root_error(context.pod, container)
    if error:
        reason = {"reason": CONFIG_ERROR, "message": error}
        if state.get("waiting") == reason:
            return Step()
        events = config_error_events(container, error, is_pulled=is_pulled(container, behavior))
        return Step(_waiting(container, old, last, reason), None, events)
    count = old.get("restartCount", 0) + (1 if ended else 0)
    now = format_time(context.now)
    facts = health(container, behavior, began=parse_time(now), now=context.now)
    new_status: Tree = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": container.get("image", ""),
        "containerID": container_id(context.pod, container["name"], count),
        "ready": facts.is_ready,
        "started": facts.is_started,
        "restartCount": count,
        "lastState": last,
        "state": {"running": {"startedAt": now}},
        **mounted_volumes(container),
        **user_of(context.pod, container),
    }
    events = start_events(container, is_pulled=is_pulled(container, behavior)) + _unready_events(container, facts)
    return Step(with_resources(new_status, container), None, events)


def _waiting(container: Tree, old: Tree, last: Tree, reason: Tree) -> Tree:
    status: Tree = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": old.get("imageID", "") if last else "",
        "ready": False,
        "started": False,
        "restartCount": old.get("restartCount", 0),
        "lastState": last,
        "state": {"waiting": reason},
        **mounted_volumes(container),
    }
    if last and old.get("containerID"):
        status |= {key: old[key] for key in _OF_LAST_RUN if key in old}
    return status


def not_started(container: Tree, old: Tree | None, *, reason: str) -> Tree:
    """Return the status of a container that waits for other containers."""
    previous = old or {}
    return _waiting(container, previous, previous.get("lastState") or {}, {"reason": reason})


# Running


def _run(context: Context, container: Tree, behavior: Behavior, status: Tree) -> Step:
    started = status["state"]["running"].get("startedAt")
    if not started:
        return Step()  # written by another component
    began = parse_time(started)
    program = program_for(context, container, behavior)
    facts = health(container, behavior, began=began, now=context.now)
    end = add_seconds(began, program.seconds) if program.seconds is not None else None
    if facts.kill is not None and (end is None or facts.kill.at < end):
        if context.now >= facts.kill.at:
            events = facts.kill.events(container["name"])
            return Step(exited(status, facts.kill.at, SIGKILL_CODE), None, events)
    elif end is not None and context.now >= end:
        return Step(finished(container, status, end, program))
    due = min((moment for moment in (end, facts.kill.at if facts.kill else None, facts.due) if moment), default=None)
    if context.is_init and not is_sidecar(container):
        return Step(due=end)
    if (status.get("ready"), status.get("started")) == (facts.is_ready, facts.is_started):
        return Step(due=due)
    was_ready = status.get("ready")
    events = _unready_events(container, facts) if was_ready else ()
    return Step({**status, "ready": facts.is_ready, "started": facts.is_started}, due, events)


def _unready_events(container: Tree, facts: Health) -> tuple[Event, ...]:
    if facts.is_ready or not facts.is_started or not container.get("readinessProbe"):
        return ()
    return (Event("Warning", "Unhealthy", "Readiness probe failed: simulated failure", container["name"]),)


def exited(status: Tree, at: datetime, code: int) -> Tree:
    """Return the status of a container whose run has ended."""
    started_at = status["state"]["running"].get("startedAt") or format_time(at)
    state = terminated(code, started_at, format_time(at), status.get("containerID", ""))
    return {**status, "ready": False, "started": False, "state": state}


def finished(container: Tree, status: Tree, at: datetime, program: Program) -> Tree:
    """Return the status of a container whose program has ended by itself."""
    ended = exited(status, at, program.exit_code)
    log = "".join(text for _, text in program.output)
    message = termination_message(
        container, code=program.exit_code, written=program.termination_log.encode(), log=log.encode()
    )
    if program.reason:
        ended["state"]["terminated"]["reason"] = program.reason
    if message:
        ended["state"]["terminated"]["message"] = message
    return ended


# Ended


def _after_exit(context: Context, container: Tree, behavior: Behavior, status: Tree) -> Step:
    ended = status["state"]["terminated"] or {}
    action = restart_action(context.pod, container, ended.get("exitCode", 0), is_init=context.is_init)
    if action == RESTART_ALL:
        return Step(restarts_all=True)
    if not action:
        return Step()
    delay = restart_delay_seconds(status)
    finished = ended.get("finishedAt")
    due = add_seconds(parse_time(finished), delay) if finished else context.now
    if context.now >= due:
        return start(context, container, behavior, status)
    name = container["name"]
    reason = {"reason": CRASH_LOOP_BACK_OFF, "message": back_off_message(delay, context.pod, name)}
    events = (Event("Warning", "BackOff", back_off_event(context.pod, name), name),)
    return Step(_waiting(container, status, {"terminated": ended}, reason), due, events)
