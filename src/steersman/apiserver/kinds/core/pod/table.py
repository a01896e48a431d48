"""Table row of a Pod: the status column of ``kubectl get pods``, computed from container statuses.

Upstream: ``printPod``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apiserver.generic.columns import NONE, age, name_of, since
from steersman.apiserver.generic.strategy import Column
from steersman.apiserver.kinds.shared.podspec.resources import is_sidecar

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree

POD_COLUMNS: Final = (
    Column("Name", format="name", field="meta.v1.ObjectMeta.name"),
    Column("Ready", description="The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", description="The aggregate status of the containers in this pod."),
    Column(
        "Restarts",
        description="The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
    ),
    Column("Age", field="meta.v1.ObjectMeta.creationTimestamp"),
    Column("IP", priority=1, field="core.v1.PodStatus.podIP"),
    Column("Node", priority=1, field="core.v1.PodSpec.nodeName"),
    Column("Nominated Node", priority=1, field="core.v1.PodStatus.nominatedNodeName"),
    Column("Readiness Gates", priority=1, field="core.v1.PodSpec.readinessGates"),
)
_ROW_CONDITIONS: Final = {
    "Succeeded": {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    },
    "Failed": {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."},
}


class _Containers(NamedTuple):
    """Summary of a group of container statuses."""

    reason: str
    ready: int
    restarts: int
    #: Finish time of the last run before a restart; empty without restarts.
    last_restart: str


def pod_cells(pod: Tree, now: datetime) -> list[Any]:
    """Return the cells of a Pod's row."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {container["name"] for container in spec.get("initContainers") or () if is_sidecar(container)}
    summary = _summary(spec, status, sidecars)
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts += f" ({since(summary.last_restart, now)} ago)"
    ips = status.get("podIPs") or ()
    return [
        name_of(pod),
        f"{summary.ready}/{len(spec.get('containers') or ()) + len(sidecars)}",
        _with_deletion(pod, summary.reason),
        restarts,
        age(pod, now),
        (ips[0].get("ip") if ips else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def pod_row_conditions(pod: Tree) -> list[Tree]:
    """Return the conditions of a Pod's row: ``Completed`` if the Pod has terminated."""
    condition = _ROW_CONDITIONS.get((pod.get("status") or {}).get("phase", ""))
    return [condition] if condition else []


def _summary(spec: Tree, status: Tree, sidecars: set[str]) -> _Containers:
    """Summarize the containers: reasons of init containers until initialized, then those of regular containers."""
    reason = status.get("reason") or status.get("phase") or ""
    conditions = status.get("conditions") or ()
    if any(c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in conditions):
        reason = "SchedulingGated"
    init, waiting, sidecar_restarts = _init_containers(spec, status, sidecars, reason)
    if waiting and not _is_true(conditions, "Initialized"):
        return init
    running = _main_containers(status, init)
    return _Containers(
        running.reason,
        running.ready,
        running.restarts + sidecar_restarts.restarts,
        max(running.last_restart, sidecar_restarts.last_restart),
    )


def _init_containers(
    spec: Tree, status: Tree, sidecars: set[str], reason: str
) -> tuple[_Containers, bool, _Containers]:
    """Summarize init containers up to the first one that has not finished, and report whether one has not.

    ``sidecars`` are restartable init containers, whose restarts are returned as well.
    """
    ready = restarts = sidecar_restarts = 0
    last = sidecar_last = ""
    waiting = False
    for position, container in enumerate(status.get("initContainerStatuses") or ()):
        is_one = container.get("name") in sidecars
        ended = _last_end(container)
        restarts += container.get("restartCount", 0)
        last = max(last, ended)
        if is_one:
            sidecar_restarts += container.get("restartCount", 0)
            sidecar_last = max(sidecar_last, ended)
        state = container.get("state") or {}
        terminated = state.get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_one and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        waiting = True
        reason = _init_reason(state, f"Init:{position}/{len(spec.get('initContainers') or ())}")
        break
    return (
        _Containers(reason, ready, restarts, last),
        waiting,
        _Containers(reason, ready, sidecar_restarts, sidecar_last),
    )


def _init_reason(state: Tree, progress: str) -> str:
    if (terminated := state.get("terminated")) is not None:
        return f"Init:{_end_reason(terminated)}"
    reason = (state.get("waiting") or {}).get("reason")
    return f"Init:{reason}" if reason and reason != "PodInitializing" else progress


def _main_containers(status: Tree, init: _Containers) -> _Containers:
    """Summarize regular containers.

    The reason is that of the first container with one; a running one beats ``Completed``.
    """
    reason, ready, restarts, last = init.reason, init.ready, 0, ""
    has_running = False
    for container in reversed(status.get("containerStatuses") or ()):
        restarts += container.get("restartCount", 0)
        last = max(last, _last_end(container))
        state = container.get("state") or {}
        if waiting_reason := (state.get("waiting") or {}).get("reason"):
            reason = waiting_reason
        elif (terminated := state.get("terminated")) is not None:
            reason = _end_reason(terminated)
        elif container.get("ready") and state.get("running") is not None:
            has_running = True
            ready += 1
    if reason == "Completed" and has_running:
        reason = "Running" if _is_true(status.get("conditions") or (), "Ready") else "NotReady"
    return _Containers(reason, ready, restarts, last)


def _end_reason(terminated: Tree) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _last_end(container: Tree) -> str:
    """Return the finish time of the container's previous run. RFC 3339 times in UTC sort as strings."""
    terminated = (container.get("lastState") or {}).get("terminated") or {}
    return terminated.get("finishedAt") or ""


def _is_true(conditions: Iterable[Tree], kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


def _with_deletion(pod: Tree, reason: str) -> str:
    if not pod["metadata"].get("deletionTimestamp"):
        return reason
    status = pod.get("status") or {}
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _readiness_gates(spec: Tree, status: Tree) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    first: dict[str, str] = {}
    for condition in status.get("conditions") or ():
        first.setdefault(condition.get("type", ""), condition.get("status", ""))
    true_gates = sum(first.get(gate["conditionType"]) == "True" for gate in gates)
    return f"{true_gates}/{len(gates)}"
