"""Statuses of process pods, computed from the state of each container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.timestamps import format_time
from steersman.nodes.pod_conditions import container_conditions
from steersman.nodes.pod_status import allocated, conditions, is_sidecar, mounted_volumes, spec_of, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree


#: Reason of a container before its first start.
CREATING: Final = "ContainerCreating"


class Waiting(msgspec.Struct, frozen=True):
    """The container has not started, or waits for its restart."""

    reason: str = CREATING
    message: str = ""


class Running(msgspec.Struct, frozen=True):
    """The container runs."""

    since: datetime
    id: str


class Terminated(msgspec.Struct, frozen=True):
    """The container has terminated."""

    code: int
    since: datetime
    ended: datetime
    id: str
    reason: str = ""
    message: str = ""


State = Waiting | Running | Terminated


class ContainerFacts(msgspec.Struct):
    """State of one container."""

    state: State = msgspec.field(default_factory=Waiting)
    last: Terminated | None = None
    restarts: int = 0
    #: Results of the startup and readiness probes.
    started: bool = False
    ready: bool = False


class End(msgspec.Struct, frozen=True):
    """Final failure of a pod, independent of its containers."""

    reason: str
    message: str
    #: Message of the condition ``DisruptionTarget``; empty for no condition.
    disruption: str = ""


def pod_status(
    pod: Tree,
    facts: Mapping[str, ContainerFacts],
    *,
    now: datetime,
    host_ip: str,
    pod_ip: str,
    is_over: bool,
    end: End | None,
) -> Tree:
    """Return the whole status. ``is_over``: all containers have terminated without a further restart."""
    spec = spec_of(pod)
    mains, inits = spec.get("containers") or [], spec.get("initContainers") or []
    if inits:
        facts = {name: _while_initializing(container_facts) for name, container_facts in facts.items()}
    phase = _phase([facts[main["name"]] for main in mains], is_over=is_over, end=end)
    main_statuses = [_container(main, facts[main["name"]]) for main in mains]
    init_statuses = [_init_container(init, facts[init["name"]]) for init in inits]
    ephemeral_statuses = [
        _ephemeral_container(container, facts[container["name"]])
        for container in spec.get("ephemeralContainers") or ()
        if container["name"] in facts
    ]
    has_started = any(not isinstance(container_facts.state, Waiting) for container_facts in facts.values())
    status: Tree = {
        "phase": phase,
        "startTime": status_of(pod).get("startTime") or format_time(now),
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "conditions": conditions(
            pod,
            container_conditions(
                pod,
                {status["name"]: status for status in (*init_statuses, *main_statuses)},
                phase,
                has_sandbox=has_started,
            ),
            now=now,
        ),
        "containerStatuses": main_statuses,
        "observedGeneration": pod["metadata"].get("generation", 1),
    }
    if has_started:
        status["podIP"], status["podIPs"] = pod_ip, [{"ip": pod_ip}]
    if init_statuses:
        status["initContainerStatuses"] = init_statuses
    if ephemeral_statuses:
        status["ephemeralContainerStatuses"] = ephemeral_statuses
    if end is not None:
        status["reason"], status["message"] = end.reason, end.message
        if end.disruption:
            disrupted = [("DisruptionTarget", True, "TerminationByKubelet", end.disruption)]
            status["conditions"] += conditions(pod, disrupted, now=now)
    return status


def _phase(mains: Sequence[ContainerFacts], *, is_over: bool, end: End | None) -> str:
    if end is not None:
        return "Failed"
    if is_over:
        codes = [main.state.code if isinstance(main.state, Terminated) else 1 for main in mains]
        return "Succeeded" if not any(codes) else "Failed"
    if any(isinstance(main.state, Waiting) and main.last is None and not main.restarts for main in mains):
        return "Pending"
    return "Running"


def _container(container: Tree, facts: ContainerFacts) -> Tree:
    current = facts.state if not isinstance(facts.state, Waiting) else facts.last
    status: Tree = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": container.get("image", "") if current is not None else "",
        "ready": facts.ready,
        "started": facts.started,
        "restartCount": facts.restarts,
        "state": _state(facts.state),
        "lastState": _state(facts.last) if facts.last is not None else {},
        **mounted_volumes(container),
    }
    if current is not None:
        status |= {"containerID": current.id, **allocated(container)}
    return status


def _while_initializing(facts: ContainerFacts) -> ContainerFacts:
    """Return the facts of a container of a pod with init containers, which waits for these before it is created."""
    is_new = isinstance(facts.state, Waiting) and facts.state.reason == CREATING
    return msgspec.structs.replace(facts, state=Waiting("PodInitializing")) if is_new else facts


def _init_container(container: Tree, facts: ContainerFacts) -> Tree:
    done = isinstance(facts.state, Terminated) and facts.state.code == 0
    status = _container(container, facts)
    return status if is_sidecar(container) else {**status, "ready": done, "started": False}


def _ephemeral_container(container: Tree, facts: ContainerFacts) -> Tree:
    """Return the status of an ephemeral container; without probes it is never ready."""
    status = _container(container, facts)
    del status["started"]
    return {**status, "ready": False}


def _state(state: State) -> Tree:
    match state:
        case Waiting():
            return {"waiting": _without_empty([("reason", state.reason), ("message", state.message)])}
        case Running():
            return {"running": {"startedAt": format_time(state.since)}}
        case Terminated():
            ended = {
                "exitCode": state.code,
                "reason": state.reason or ("Completed" if state.code == 0 else "Error"),
                "startedAt": format_time(state.since),
                "finishedAt": format_time(state.ended),
                "containerID": state.id,
            }
            return {"terminated": {**ended, **_without_empty([("message", state.message)])}}


def _without_empty(pairs: Iterable[tuple[str, str]]) -> Tree:
    return {name: value for name, value in pairs if value}
